"""The files of a graph: the directory, the file format, and the changes that an operation makes.

Owns bytes and front matter. Refuses to know git, the index, the store and models. Exports nothing, so that code that
only needs a safe file name does not load the YAML library.
"""
