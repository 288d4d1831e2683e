"""The sample's memory graph: memories of many types and ages, their relations, and files with a history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from everloom.graph import Graph
from everloom.loom import Workspace
from everloom.sample.story import GRAPH, Moment, read_story

_FORENOON, _NOON, _AFTERNOON, _LATE = 3, 4, 6, 8
_FIELDS = ("type", "title", "content", "tags", "importance", "steps", "preconditions", "postconditions")
_MOST = 100


def drawn_moments(place: Workspace, looking: Workspace) -> Iterator[Moment]:
    """List when each memory was stored, extended and read, and when it was related to others.

    Through `looking` nothing is written: it tells how often a memory was read before.
    """
    data, drawing = read_story(GRAPH), _Drawing(place, looking)
    memories: dict[str, dict[str, Any]] = {each["key"]: each for each in data["memories"]}
    yield Moment(max(each["days_ago"] for each in memories.values()), 0, drawing.begin)
    for each in memories.values():
        title = each["title"]
        yield Moment(each["days_ago"], _FORENOON, partial(drawing.store, each))
        for days_ago, text in each.get("later", ()):
            yield Moment(days_ago, _NOON, partial(drawing.append, title, text))
        for times, days_ago in enumerate(each["reads"], 1):
            yield Moment(days_ago, _LATE, partial(drawing.read, title, times))
    for each in data["relations"]:
        ends = memories[each["from"]], memories[each["to"]]
        titles = ends[0]["title"], ends[1]["title"]
        yield Moment(min(end["days_ago"] for end in ends), _AFTERNOON, partial(drawing.relate, each, titles))
    pinned = [each["title"] for each in memories.values() if each.get("pinned")]
    yield Moment(1, _LATE, partial(drawing.tidy, pinned))


class _Drawing:
    """The graph while it is drawn; each method changes nothing that it has done before."""

    def __init__(self, place: Workspace, looking: Workspace) -> None:
        self._place = place
        self._looking = looking

    @cached_property
    def _graph(self) -> Graph:
        return self._place.graph

    @cached_property
    def _ids(self) -> dict[str, str]:
        """The memories that exist by their titles, archived ones as well."""
        found = self._graph.search(limit=_MOST, archived=True, max_tokens=100_000)
        return {each.title: each.id for each in found.memories}

    def begin(self) -> None:
        """Create the graph, with a history if this machine has git."""
        self._graph.keep_history()

    def store(self, memory: Mapping[str, Any]) -> None:
        """Store a memory, without automatic relations: the story has its own."""
        if memory["title"] not in self._ids:
            given = {name: memory[name] for name in _FIELDS if name in memory}
            self._ids[memory["title"]] = self._graph.store(**given, connect=False).id

    def append(self, title: str, text: str) -> None:
        """Add what was found out later."""
        if text not in self._looking.graph.get(self._ids[title]).content:
            self._graph.append(self._ids[title], content=text)

    def read(self, title: str, times: int) -> None:
        """Read a memory, unless it was read so many times."""
        if self._looking.graph.get(self._ids[title]).access_count < times:
            self._graph.get(self._ids[title])

    def relate(self, relation: Mapping[str, Any], titles: tuple[str, str]) -> None:
        """Relate two memories."""
        given = {name: relation[name] for name in ("strength", "context") if name in relation}
        self._graph.relate(self._ids[titles[0]], self._ids[titles[1]], relation["type"], **given)

    def tidy(self, pinned: list[str]) -> None:
        """Pin what must not fade, archive what has faded, and write the two pages."""
        for title in pinned:
            self._graph.pin(self._ids[title])
        self._graph.decay()
        self._graph.core()
        self._graph.reflection()
