"""Evidence: what was observed, and the subjects that it is about.

Owns observations, their being taken back or superseded, subjects with their aliases, and making two subjects one.
Refuses to know how evidence is summed up (`understanding`) and how it is found again (`recall`).
"""
