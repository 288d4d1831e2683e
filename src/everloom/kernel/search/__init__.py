"""The search of all faculties, with one ranking: candidates, fusion, bias, diversity, explanation.

Refuses to know what the kinds of documents mean; a faculty narrows a search by scope, by ids or by a filter.
"""

from everloom.kernel.search.find import Finder
from everloom.kernel.search.gather import Archiving
from everloom.kernel.search.hits import EVERYTHING, NOTHING_FITS, Findings, Hit, Leading, Scope
from everloom.kernel.search.index import PLANNED, Document, Index, Prepared, Standing
from everloom.kernel.search.question import is_question
from everloom.kernel.search.recipe import ALONE, ASSOCIATIVE, DEFAULT, Bias, Recipe

__all__ = [
    "ALONE",
    "ASSOCIATIVE",
    "DEFAULT",
    "EVERYTHING",
    "NOTHING_FITS",
    "PLANNED",
    "Archiving",
    "Bias",
    "Document",
    "Finder",
    "Findings",
    "Hit",
    "Index",
    "Leading",
    "Prepared",
    "Recipe",
    "Scope",
    "Standing",
    "is_question",
]
