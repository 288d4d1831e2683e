"""The consolidation desk: what waits as a work list, one entry beside its evidence, and statements that disagree."""

from everloom.surfaces.page.pages.desk import contradictions, entry, worklist

PATHS = (*worklist.PATHS, *entry.PATHS, *contradictions.PATHS)

__all__ = ["PATHS"]
