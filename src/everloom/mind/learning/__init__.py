"""What is left of an exchange: a document that search finds, and the facts that it taught.

Owns what is worth keeping. Refuses to know turns, and where facts are kept: that is semantic memory, behind a port.
"""
