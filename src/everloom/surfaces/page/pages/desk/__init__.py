"""The consolidation desk: what waits as a work list, one entry beside its evidence, subjects that may be one, and
statements that disagree.
"""

from everloom.surfaces.page.pages.desk import contradictions, entry, similar, worklist

PATHS = (*worklist.PATHS, *entry.PATHS, *similar.PATHS, *contradictions.PATHS)

__all__ = ["PATHS"]
