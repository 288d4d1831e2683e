"""The parts that all faculties share: workspaces, ids, sessions, events, search, lifecycle, signals, background work.

Knows the contracts of the store and of the models; refuses to know any faculty or surface.
"""
