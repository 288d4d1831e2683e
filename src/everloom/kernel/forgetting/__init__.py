"""Forgetting and correcting, for items of every kind.

Owns the selection, the plan and its token, tombstones, and the order in which rows, traces and files are cleaned.
Refuses to know faculties: each offers an `Eraser` and a `Corrector`.
"""
