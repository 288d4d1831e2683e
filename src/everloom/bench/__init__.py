"""Measurements that users can repeat: search speed at a given size, and retrieval quality on known answers.

Sits above the faculties, like a surface; nothing else may import it.
"""
