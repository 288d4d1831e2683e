"""The operations on a graph: memories, edges, suggestions, imports. Each is one plan, done whole or not at all.

Owns what an operation means. Refuses to know the bytes of a file and how a plan is carried out. Exports nothing: each
verb loads the module that it needs.
"""
