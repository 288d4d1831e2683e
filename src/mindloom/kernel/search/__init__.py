"""One search with one ranking for every faculty: candidates, fusion, bias, diversity, explanation."""

from mindloom.kernel.search.find import Finder
from mindloom.kernel.search.hits import EVERYTHING, Findings, Hit, Scope
from mindloom.kernel.search.index import Document, Index, Prepared, Standing
from mindloom.kernel.search.recipe import DEFAULT, Bias, Recipe

__all__ = [
    "DEFAULT",
    "EVERYTHING",
    "Bias",
    "Document",
    "Finder",
    "Findings",
    "Hit",
    "Index",
    "Prepared",
    "Recipe",
    "Scope",
    "Standing",
]
