"""The operations on a graph: memories, edges, tags, imports. Each is one plan, carried out whole or not at all.

Owns what an operation means. Refuses to know the bytes of a file and the tables of the index.
"""
