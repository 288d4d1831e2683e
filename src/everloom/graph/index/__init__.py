"""The index of a graph: what the store knows about the files, how it follows them, how both change together.

Owns rows, documents, decay, and the protocol by which a plan reaches files and index whole or not at all. The files
stay the truth. Refuses to know what an operation means.
"""
