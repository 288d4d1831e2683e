"""The operations on a graph: memories, edges, suggestions and imports. Each is one plan that is done completely or not.

Owns the rules of each operation. Refuses to know the bytes of a file and how a plan is applied. Exports nothing: each
verb imports the module that it needs.
"""
