"""The files of a graph: their directory, their format, and what an operation changes in them.

Owns bytes, front matter and git. Refuses to know the index, the store and models. Exports nothing: who needs a safe
name should not load YAML.
"""
