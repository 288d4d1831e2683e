"""What a Being keeps beside its scenes: notes, entries under a key, and the parts of its soul.

Refuses to know clusters, recall and patrols.
"""
