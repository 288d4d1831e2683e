"""The commands, grouped by what they are for; each calls one operation of the Python API.

Nothing is imported here: the program loads the one module whose command was called.
"""
