"""What `everloom doctor` and the page check: whether everything works, and how to fix what does not.

Owns the checks and their sentences; does not depend on how they are shown. Nothing is changed but what a person asks
for: the date of an item.
"""

from everloom.checks.examination import Check, examine, examine_program

__all__ = ["Check", "examine", "examine_program"]
