"""Whether a workspace still works: all that a person and an agent do every day, asked after hostile calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

from everloom.errors import EverloomError
from everloom.exports import write
from everloom.kernel.answer.whole import whole_answer
from everloom.loom import Workspace
from tests.store.ground import asking

_NEWEST = 20
_MOST_TURNS = 10


def complaints(place: Workspace, url: str, folder: Path) -> list[str]:
    """Do each of it once, and say what failed."""
    found = []
    for name, act in _acts(place, url, folder):
        try:
            whole_answer(act()).encode()
        except Exception as error:  # noqa: BLE001  the report names it
            found.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    return found


def _acts(place: Workspace, url: str, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "search", lambda: place.search("James sails the boat")
    yield "recall", lambda: place.semantic.recall("Who sails the red boat?")
    yield "bring_to_mind", lambda: place.semantic.bring_to_mind("the red boat")
    yield "show", lambda: _show_newest(place, url)
    yield "orient", place.semantic.orient
    yield "get_context", place.episodic.get_context
    yield "graph", lambda: (place.graph.recall("boat"), place.graph.recent())
    yield "export", lambda: _export(place, folder)
    yield "chat", lambda: _talk(place)


def _show_newest(place: Workspace, url: str) -> None:
    """Show the newest items, of whatever kind they are."""
    with asking(url) as ask:
        newest = [row["item_id"] for row in ask(f"SELECT item_id FROM document ORDER BY item_id DESC LIMIT {_NEWEST}")]
    for item in newest:
        whole_answer(place.show(item)).encode()
        whole_answer(place.why(item)).encode()


def _export(place: Workspace, folder: Path) -> None:
    write(place.loom, folder / f"export-{token_hex(4)}", workspaces=[place.name])


def _talk(place: Workspace) -> str:
    """Have one message answered, with all that waits before it."""
    conversation = place.mind.conversation
    sent = conversation.receive("Who sails?", channel="terminal", key=token_hex(4), is_whole=True)
    for _ in range(_MOST_TURNS):
        if (reply := conversation.reply_to(sent.id)) is not None:
            return reply.text
        conversation.step()
    raise EverloomError("nobody answers")
