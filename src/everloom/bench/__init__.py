"""Measurements that a user can repeat: search at size, and retrieval on conversations with known answers.

Stands above the faculties like a surface; nothing else may import it.
"""
