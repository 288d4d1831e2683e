"""The memory behind the interfaces of agent frameworks: one module each, imported only by those who use it.

Owns the translation between a framework's types and records, documents or notes. Contains no rule of memory, and
refuses to know the other frameworks. None of them is needed by anything else: each is an extra of its own.
"""
