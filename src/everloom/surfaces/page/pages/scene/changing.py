"""The forms on the page of a scene: correct it, split it, move it to another cluster, undo a change.

Each calls one verb with the version that the page showed. A form sends every field; only what was changed in it is part
of a correction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from starlette.responses import Response

from everloom.episodic.scenes.scene import AXES
from everloom.errors import EverloomError, Rejected
from everloom.surfaces.page.pages.scenes import shown_scene, told_of
from everloom.surfaces.page.paths import SCENE, form
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.episodic.changes import ChangedNodes

_TEXTS = ("action", "feeling", "setting", "importance")
_LISTS = ("actors", "dialogue", "sensory", "themes")
_FIELDS = (*_TEXTS, *_LISTS, "when", *AXES, "reason", "parts", "cluster", "name", "root")


def correct(visit: Visit) -> Response:
    """Correct what was changed in the form."""

    def act(memory: Episodic, node_id: int, typed: Mapping[str, str]) -> ChangedNodes | None:
        shown = told_of(memory.show(node_id))
        changed = {name for name in shown if typed[name].strip() != shown[name].strip()}
        patch: dict[str, Any] = {name: typed[name] for name in _TEXTS if name in changed}
        if "importance" in patch:
            patch["importance"] = _number(typed["importance"])
        patch |= {name: _lines(typed[name]) for name in _LISTS if name in changed}
        if "when" in changed:
            patch["when"] = [_moment(line) for line in _lines(typed["when"])]
        if changed.intersection(AXES):
            numbers = {axis: typed[axis].strip() for axis in AXES}
            told = ",".join(f"{axis}={number or '0'}" for axis, number in numbers.items())
            patch["emotion"] = told if any(numbers.values()) else "none"
        return memory.correct_node(node_id, **patch, **_circumstances(visit)) if patch else None

    return _done(visit, "correct", act, "Corrected; what it said before is in its history.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise Rejected("importance must be a number", hint="write it as 0.5, from 0 to 1") from error


def split(visit: Visit) -> Response:
    """Split the scene, a line for each part."""

    def act(memory: Episodic, node_id: int, typed: Mapping[str, str]) -> ChangedNodes:
        return memory.split_node(node_id, _lines(typed["parts"]), **_circumstances(visit))

    return _done(visit, "split", act, "Split; each part is a scene of its own now.")


def move(visit: Visit) -> Response:
    """Move the scene to a cluster of the list or to one with a name, or give its place back to the patrols."""

    def act(memory: Episodic, node_id: int, typed: Mapping[str, str]) -> ChangedNodes:
        # A cluster by its name counts before one of the list, which always has something chosen.
        if name := typed["name"].strip():
            root = cast("Literal['Business', 'Private'] | None", typed["root"] or None)
            return memory.move_node(node_id, name=name, root=root, **_circumstances(visit))
        target = None if visit.form.text("free") else visit.form.number("cluster")
        return memory.move_node(node_id, target, **_circumstances(visit))

    return _done(visit, "move", act, "Patrols place it again." if visit.form.text("free") else "Moved; it stays there.")


def undo(visit: Visit) -> Response:
    """Undo one change of its history."""

    def act(memory: Episodic, node_id: int, _typed: Mapping[str, str]) -> ChangedNodes:
        return memory.undo_change(node_id, visit.form.number("change"), **_circumstances(visit))

    return _done(visit, "undo", act, "Undone; this can be undone, too.")


_Act = Callable[["Episodic", int, Mapping[str, str]], "ChangedNodes | None"]
_VERBS = {"correct": "correct_node", "split": "split_node", "move": "move_node", "undo": "undo_change"}


def _done(visit: Visit, which: str, act: _Act, said: str) -> Response:
    """Make a change and lead back to the scene, or show why it was refused beside what was typed."""
    typed = {name: visit.form.text(name) for name in _FIELDS}
    node_id = visit.number_in_path("id")
    try:
        done = act(visit.acting(_VERBS[which]).episodic, node_id, typed)
    except EverloomError as error:
        return shown_scene(visit, error, typed, which)
    return visit.go(visit.url(f"scenes/{node_id}"), said if done and done.changes else "Nothing was changed.")


def _circumstances(visit: Visit) -> dict[str, Any]:
    return {"reason": visit.form.given("reason"), "expected_version": visit.form.given("version")}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _moment(line: str) -> str | dict[str, str]:
    """Read a line of the timeline: a date and, after bars, what happened and how it felt."""
    date, *rest = (part.strip() for part in line.split("|", 2))
    return {"date": date, **dict(zip(("action", "feeling"), rest, strict=False))} if any(rest) else date


PATHS = (
    form(f"{SCENE}/correct", correct),
    form(f"{SCENE}/split", split),
    form(f"{SCENE}/move", move),
    form(f"{SCENE}/undo", undo),
)
