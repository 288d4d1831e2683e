"""Recall: retrieving what is known.

Owns search over observations and understandings, intersections of subjects, and the list of sessions. Refuses to rank:
that is the kernel's job.
"""
