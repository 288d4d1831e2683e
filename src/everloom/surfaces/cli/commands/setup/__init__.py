"""From nothing to a memory that works: settings, workspaces, AI clients, a sample, and a doctor for all of it.

Refuses to know what is remembered.
"""
