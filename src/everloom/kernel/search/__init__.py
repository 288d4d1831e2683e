"""One search with one ranking for every faculty: candidates, fusion, bias, diversity, explanation."""

from everloom.kernel.search.find import Finder, Nearest
from everloom.kernel.search.hits import EVERYTHING, Findings, Hit, Scope
from everloom.kernel.search.index import Document, Index, Prepared, Standing
from everloom.kernel.search.recipe import DEFAULT, Bias, Recipe

__all__ = [
    "DEFAULT",
    "EVERYTHING",
    "Bias",
    "Document",
    "Finder",
    "Findings",
    "Hit",
    "Index",
    "Nearest",
    "Prepared",
    "Recipe",
    "Scope",
    "Standing",
]
