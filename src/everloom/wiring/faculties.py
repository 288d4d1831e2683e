"""The list of faculties, from which surfaces make command groups, toolsets and tools.

Light: a faculty's class is loaded when its verbs are first needed, and that loads neither a store nor a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from everloom.kernel.verbs import Parameter, Says, Verb, verbs_of

_GRAPH = Parameter("graph", str | None, Says("name of the graph; memory_graphs lists them"), None, is_positional=False)


@dataclass(frozen=True)
class Faculty:
    """One faculty: where its verbs are declared, and how to get at it in a workspace."""

    name: str
    # "module:class", as a string: importing the class here would load every faculty for `--help`.
    declaration: str
    summary: str
    # Parameters that every verb has in addition to its own, because they choose the object it is called on.
    selectors: tuple[Parameter, ...] = ()
    open: Callable[[Any, Mapping[str, Any]], Any] | None = None
    # A verb whose name begins with one of these words and an underscore is a command of a group of that name.
    groups: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def verbs(self) -> tuple[Verb, ...]:
        """List its verbs, in the order in which they are declared."""
        module, _, name = self.declaration.partition(":")
        return verbs_of(getattr(import_module(module), name))

    def verb(self, name: str) -> Verb:
        """Return one verb by its Python name."""
        return next(each for each in self.verbs if each.name == name)

    def reach(self, workspace: Any, chosen: Mapping[str, Any]) -> Any:
        """Return the object of a workspace whose verbs are called."""
        # A workspace elsewhere has none of the objects, only the verbs, and reaches those itself.
        elsewhere = getattr(workspace, "reach", None)
        if elsewhere is not None:
            return elsewhere(self, chosen)
        return getattr(workspace, self.name) if self.open is None else self.open(workspace, chosen)


FACULTIES = {
    each.name: each
    for each in (
        Faculty(
            "semantic",
            "everloom.semantic.verbs:Semantic",
            "Work with semantic memory: subjects, observations, understandings.",
        ),
        Faculty(
            "episodic",
            "everloom.episodic.verbs:Episodic",
            "Work with episodic memory: scenes, notes, diary, patrols.",
        ),
        Faculty(
            "graph",
            "everloom.graph.verbs:Graph",
            "Work with the memory graph: typed markdown files in a directory, optionally under git.",
            selectors=(_GRAPH,),
            open=lambda workspace, chosen: workspace.graphs.open(chosen.get("graph")),
            groups={"edge": "Read, find, change and delete the edges between memories."},
        ),
        Faculty("graphs", "everloom.graph.graphs:Graphs", "Work with the memory graphs of a workspace."),
        Faculty(
            "mind",
            "everloom.mind.verbs:Mind",
            "Inspect the conversation: log, array, compactions, heartbeats, scheduled messages.",
        ),
        Faculty(
            "review",
            "everloom.wiring.review:Review",
            "Decide about writes that wait for approval, and find stored secrets.",
        ),
        Faculty("forgetting", "everloom.kernel.forgetting.verbs:Forgetting", "Forget and correct items of every kind."),
        Faculty(
            "jobs",
            "everloom.wiring.jobs:Jobs",
            "Start long work in the background, and follow it.",
            open=lambda workspace, _: import_module("everloom.wiring.jobs").Jobs(workspace),
        ),
        Faculty(
            "items",
            "everloom.wiring.items:Items",
            "Work with items of every kind: search, show, explain, judge, pin.",
            open=lambda workspace, _: import_module("everloom.wiring.items").Items(workspace),
        ),
        Faculty(
            "workspace",
            "everloom.wiring.administration:Administration",
            "Work with a workspace as a whole: what it is, its vectors, its background work.",
            open=lambda workspace, _: import_module("everloom.wiring.administration").Administration(workspace),
        ),
    )
}


def _watched(workspace: Any, chosen: Mapping[str, Any]) -> object:
    """Open a graph, and watch its files from now on, unless nothing may be written."""
    graph = workspace.graphs.open(chosen.get("graph"))
    return graph if workspace.op.is_read_only else workspace.loom.watched(graph)


def served(faculty: Faculty) -> Faculty:
    """Return a faculty as a server opens it."""
    # A command opens a graph for a moment and follows its files once; a server lives long enough for people to change
    # them.
    return replace(faculty, open=_watched) if faculty.name == "graph" else faculty
