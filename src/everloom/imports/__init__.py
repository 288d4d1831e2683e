"""Taking in what other programs remember: their conversations, notes and facts, each with its own time and origin.

Owns the foreign formats, and how their records become items of a workspace: in batches, each once, and on from where
the last reading ended. Refuses to know surfaces, and adds no second search: a turn is a document in its session.
"""

from everloom.imports.report import ImportProgress, ImportReport, SkippedRecords
from everloom.imports.sources import ImportUndone, list_imports, undo_import
from everloom.imports.taking import take_in

__all__ = [
    "ImportProgress",
    "ImportReport",
    "ImportUndone",
    "SkippedRecords",
    "list_imports",
    "take_in",
    "undo_import",
]
