"""The commands, grouped by purpose; each calls one operation of the Python API.

Imports nothing: the program loads only the module of the command that was called.
"""
