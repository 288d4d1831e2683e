"""What a verb returns elsewhere is what comes back: every verb, both engines, over real HTTP."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from everloom.kernel.answer.whole import whole_answer
from everloom.kernel.verbs import Verb
from everloom.loom import Loom, Workspace, open_loom
from everloom.remote.decode import result_from
from everloom.settings import Settings
from everloom.wiring.faculties import FACULTIES, Faculty
from everloom.wiring.wire.annotations import returned_by
from tests.graph.sample import BROKEN, write_sample
from tests.mind.hands.waiting import wait_for_approval
from tests.mind.worlds import fact_set_aside
from tests.remote.examples import EXAMPLES
from tests.remote.ground import served

pytestmark = pytest.mark.xdist_group("a server in a thread")


def prepare(place: Workspace, faculty: str, folder: Path) -> dict[str, Any]:
    """Put into a workspace what the examples of a faculty begin with."""
    first = place.semantic.remember(["James"], "James sails on Sundays.")
    other = place.semantic.remember(["Bern"], "Bern has a clock tower.")
    if faculty in {"graph", "graphs"}:
        write_sample(folder / "old")
        (folder / "old" / BROKEN).unlink()
        place.graph.import_directory(folder / "old")
        # The examples ask for the history of a file, too.
        place.graph.keep_history()
    if faculty == "mind":
        place.mind.conversation.receive("James sails, doesn't he?", channel="terminal", is_whole=True)
        assert place.mind.conversation.step()
        place.mind.notes.write("MEMORY.md", "James sails on Sundays, and Audrey does too.")
        one, two = wait_for_approval(place.mind)
        return {
            "item": first.id,
            "other": other.id,
            "action": one,
            "second action": two,
            "aside": fact_set_aside(place),
        }
    return {"item": first.id, "other": other.id}


def same(one: Any, other: Any) -> None:
    """Check that two values are equal and of the same types, however deeply they are nested."""
    assert one == other
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        assert type(one) is type(other)
        for each in dataclasses.fields(one):
            same(getattr(one, each.name), getattr(other, each.name))
    elif isinstance(one, list | tuple):
        assert isinstance(other, tuple if isinstance(one, tuple) else list)
        assert getattr(one, "note", None) == getattr(other, "note", None)
        for ours, theirs in zip(one, other, strict=True):
            same(ours, theirs)


def newest(loom: Loom, workspace: str) -> int:
    """Return the last event: every write appends one."""
    return loom.workspace(workspace).events(limit=1)[0].id


def without_notices(answer: Any) -> Any:
    """Leave off what an answer says about the moment, such as that git failed."""
    return dataclasses.replace(answer, notices=()) if getattr(answer, "notices", None) else answer


@pytest.mark.promise("remote.same-answers", "api.keys")
@pytest.mark.parametrize("faculty", EXAMPLES)
def test_every_verb_returns_elsewhere_what_it_returns_here(
    faculty: str, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = Settings.model_validate({"llm": {"large": "scripted:echo"}, "workspace": {"time_zone": "Europe/Paris"}})
    with open_loom(store_url, settings=settings) as loom:
        got = prepare(loom.workspace("james", session="monday"), faculty, tmp_path)
    examples = EXAMPLES[faculty]
    assert set(examples) == {verb.name for verb in FACULTIES[faculty].verbs}, "every verb has an example"
    with (
        served(store_url, settings, monkeypatch) as server,
        open_loom(server.url, token=None) as far,
        open_loom(store_url, settings=settings) as loom,
    ):
        place = far.workspace("james", session="monday")
        received: list[Any] = []
        run = place.run

        def kept(faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Any:
            if not verb.effect.writes:
                received.append(run(faculty, verb, given))
                return received[-1]
            # Whatever writes is called twice under one key: the answer is the same, and nothing happens again.
            keyed = {**given, "idempotency_key": uuid4().hex}
            received.append(run(faculty, verb, keyed))
            done = newest(loom, place.name)
            received.append(run(faculty, verb, keyed))
            # A job that was started writes on its own.
            assert faculty.name == "jobs" or newest(loom, place.name) == done, f"{verb.name} wrote something again"
            same(without_notices(received[-2]), received[-1])
            return received[-2]

        monkeypatch.setattr(place, "run", kept)
        for name, example in examples.items():
            del server.results[:], received[:]
            got[name] = example(place, got)
            assert server.results[-1][0] == f"{faculty}.{name}"
            for (_, value), ours in zip(server.results, received, strict=True):
                same(value, ours)


@pytest.mark.promise("remote.same-answers")
def test_what_is_shortened_keeps_its_note(store_url: str) -> None:
    with open_loom(store_url) as loom:
        mine = loom.workspace("james").semantic
        for number in range(30):
            mine.remember(["James"], f"James sails boat number {number} in all weathers.")
        cut = mine.list_observations(["James"], max_tokens=200)
    assert getattr(cut, "note", None)
    made = result_from(
        returned_by(FACULTIES["semantic"].verb("list_observations").method), json.loads(whole_answer(cut))
    )
    same(cut, made)
