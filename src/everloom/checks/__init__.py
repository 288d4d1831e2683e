"""What `everloom doctor` and the page check: whether everything works, and how to fix what does not.

Owns the checks and their sentences; refuses to know how they are shown, and changes nothing.
"""

from everloom.checks.examination import Check, examine, examine_program

__all__ = ["Check", "examine", "examine_program"]
