"""Setting up: settings, workspaces, AI clients, sample data, shell completion, and a check of all of it.

Refuses to know what is remembered.
"""
