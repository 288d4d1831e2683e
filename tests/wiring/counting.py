"""A process that counts up in a graph, in the notes and in the status, as one of several that do so at once."""

from __future__ import annotations

import sys
from collections.abc import Callable

from everloom import Settings, open_loom
from everloom.errors import Conflict
from everloom.loom import Workspace

NOTE, ENTRIES = "count.md", "entries.md"


def count_up(url: str, who: str, times: int) -> None:
    """Add to every count as often as told; a conflict means to read and try again."""
    with open_loom(url, settings=Settings.model_validate({"workspace": {"time_zone": "UTC"}})) as loom:
        place = loom.workspace("shared", session=who)
        memory = next(each.id for each in place.graph.search().memories if each.title == "Count")
        entries = next(each.id for each in place.graph.search().memories if each.title == "Entries")
        for number in range(times):
            again(lambda: raise_memory(place, memory))
            again(lambda: raise_note(place))
            again(lambda: raise_status(place))
            mark = f"{who} {number}"
            place.graph.append(entries, content=f"- {mark}", tags=[mark.replace(" ", "-")])
            place.mind.append_note(f"- {mark}", name=ENTRIES)
            place.mind.update_status({f"{who}-{number}": True})


def again(act: Callable[[], object]) -> None:
    """Repeat an action until nobody came in between."""
    while True:
        try:
            act()
            return
        except Conflict:
            continue


def raise_memory(place: Workspace, memory: str) -> None:
    found = place.graph.get(memory)
    place.graph.update(memory, content=str(int(found.content) + 1), expected_version=found.version)


def raise_note(place: Workspace) -> None:
    # Without a version: what this session has read is what it may replace.
    found = place.mind.read_note(NOTE)
    place.mind.write_note(NOTE, str(int(found.body or "0") + 1), replace=True)


def raise_status(place: Workspace) -> None:
    found = place.mind.read_note("status.json")
    known = place.mind.notes.status()
    place.mind.update_status({"count": known["count"] + 1}, expected_version=found.version)


if __name__ == "__main__":
    count_up(sys.argv[1], sys.argv[2], int(sys.argv[3]))
