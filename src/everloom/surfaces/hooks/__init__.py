"""Hooks of AI clients: what a session is told when it begins, and how what was said in it is taken in.

A client starts `everloom hook EVENT` at the turns of a session, waits for it, and shows whatever goes wrong to whoever
is working. So every hook answers within a limit of its own, fails open, starts no server, and loads what it needs only
once there is something to do. Contains no rule of memory: it asks verbs, and hands transcripts to the import.
"""
