"""Every text and every list of a call has a bound, and a call over it is refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_origin

import pytest

from everloom.errors import Rejected
from everloom.kernel import texts
from everloom.kernel.calls.bounds import MOST_CHARACTERS, MOST_VALUES
from everloom.kernel.verbs import LONGEST_TEXT, Parameter
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.wiring.arguments import Arguments
from everloom.wiring.faculties import FACULTIES
from tests.reads.ground import calls, furnished, verbs, whole


def too_much(parameter: Parameter) -> Iterator[tuple[Any, int]]:
    """Make values over each bound of a parameter, with the bound."""
    says = parameter.says
    if str in parameter.kinds:
        yield "x" * (says.longest + 1), says.longest
    if parameter.list_kind is not None:
        yield [0] * (says.entries + 1), says.entries
    if any(get_origin(kind) is Mapping for kind in parameter.kinds):
        yield dict.fromkeys(map(str, range(says.entries + 1)), 0), says.entries


@pytest.mark.promise("trust.every-call-is-bounded")
def test_every_text_and_list_of_every_verb_is_refused_over_its_bound(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    asked = 0
    with open_loom(store_url, settings=Settings()) as loom:
        held = furnished(loom)
        rows, place = whole(store_url), loom.workspace()
        for faculty, verb in [*verbs(writing=True), *verbs(writing=False)]:
            usual = calls(held)[faculty.name][verb.name]
            for parameter in verb.parameters:
                for value, bound in too_much(parameter):
                    asked += 1
                    with pytest.raises(Rejected, match=f"{parameter.name} has .* at most {bound:,}") as caught:
                        getattr(faculty.reach(place, {}), verb.name)(**{**usual, parameter.name: value})
                    assert caught.value.hint
    assert asked > 100
    assert whole(store_url) == rows


@pytest.mark.promise("trust.every-call-is-bounded")
def test_what_is_hidden_inside_lists_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with open_loom(tmp_path / "loom.db", settings=Settings()) as loom:
        being = loom.workspace().episodic
        with pytest.raises(Rejected, match=f"at most {MOST_VALUES:,} in one call"):
            being.update_notes(scenes=[{"action": "deep", "actors": ["x"] * (MOST_VALUES // 400)}] * 400)
        with pytest.raises(Rejected, match=f"at most {MOST_CHARACTERS:,} characters in one call"):
            being.update_notes(notes=["x" * (MOST_CHARACTERS // 400)] * 401)
        nested: Any = []
        for _ in range(MOST_VALUES):
            nested = [nested]
        with pytest.raises(Rejected, match="in one call"):
            being.update_notes(notes=[{"content": nested}])
        assert being.update_notes(notes=["This fits."]).note_ids


@pytest.mark.promise("trust.every-call-is-bounded")
def test_three_hundred_thousand_notes_are_refused_on_their_way_in(workspace: Any) -> None:
    verb = FACULTIES["episodic"].verb("update_notes")
    read = Arguments(verb.tool, verb.parameters).read({"notes": ["A note."] * 300_000}, workspace.info.zone)
    with pytest.raises(Rejected, match="notes has 300,000 entries: at most 500"):
        workspace.episodic.update_notes(**read)
    assert workspace.episodic.update_memory("notes", "get").entries == ()


def test_a_text_is_as_long_everywhere() -> None:
    assert texts.LONGEST_TEXT == LONGEST_TEXT


@pytest.mark.promise("trust.every-call-is-bounded")
def test_a_number_that_no_store_can_hold_is_refused_by_every_verb(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    asked = 0
    with open_loom(store_url, settings=Settings()) as loom:
        held = furnished(loom)
        rows, place = whole(store_url), loom.workspace()
        for faculty, verb in [*verbs(writing=True), *verbs(writing=False)]:
            usual = calls(held)[faculty.name][verb.name]
            for parameter in verb.parameters:
                if int in parameter.kinds or parameter.list_kind is int:
                    asked += 1
                    value: Any = 2**63 if int in parameter.kinds else [2**63]
                    with pytest.raises(Rejected, match=f"{parameter.name} is a number"):
                        getattr(faculty.reach(place, {}), verb.name)(**{**usual, parameter.name: value})
    assert asked > 40
    assert whole(store_url) == rows
