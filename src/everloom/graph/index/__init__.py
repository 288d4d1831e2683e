"""The index of a graph: its rows in the store, how they follow the files, and how both are changed together.

Owns rows, documents, decay, and the protocol that applies a plan to files and index completely or not at all. The files
remain the source of truth. Refuses to know the purpose of an operation.
"""
