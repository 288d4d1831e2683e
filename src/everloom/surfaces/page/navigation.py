"""The pages of a workspace that the navigation lists, in its order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One page in the navigation; `path` is below the workspace, `below` are paths of pages that belong to it."""

    name: str
    path: str
    below: tuple[str, ...] = ()

    def is_here(self, path: str) -> bool:
        """Return whether a path is this page, or belongs to it."""
        # /w/7/search: the third part says which page it is.
        part = (path.split("/") + [""] * 4)[3]
        return part == self.path or part in self.below


NAVIGATION = (
    Entry("Home", ""),
    Entry("Search", "search"),
    Entry("Subjects", "subjects", ("subject", "venn")),
    Entry("Timeline", "timeline"),
    Entry("Scenes", "scenes", ("patrols", "story")),
    Entry("Graph", "graph"),
    Entry("Mind", "mind", ("notes", "usage", "heartbeats", "schedule")),
    Entry("Consolidation", "consolidation"),
    Entry("Review", "review"),
    Entry("Work", "work"),
)
