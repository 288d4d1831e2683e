"""Recall: bringing back what is known.

Owns search as this faculty answers it, what a session was shown, the intersections of subjects and the time axis.
Refuses to rank: that is the kernel's.
"""
