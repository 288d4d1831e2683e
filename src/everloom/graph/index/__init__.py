"""The index of a graph: what the store knows about the files, how it follows them, and how memories decay.

Owns rows and documents; the files stay the truth. Refuses to know how an operation changes files.
"""
