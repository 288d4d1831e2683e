"""What every faculty shares: workspaces, ids, sessions, events, search, lifecycle, signals, background work.

Knows the store's contract and the models' contracts; refuses to know any faculty or surface.
"""
