"""An origin only lowers trust, and only people decide: for every verb that is declared, on every surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from everloom import Document
from everloom.clock import ManualClock
from everloom.errors import EverloomError, Forbidden
from everloom.kernel.verbs import DECIDES, Verb, verb
from everloom.loom import Loom, Workspace, open_loom
from everloom.semantic import NewObservation
from everloom.settings import Settings
from everloom.surfaces.mcp.toolsets import chosen_verbs
from everloom.wiring.faculties import FACULTIES, Faculty
from tests.store.ground import NOW, rows_of

DECIDING = {"approve", "reject", "approve_action", "refuse_action", "allow_tool", "lift_tombstones"}


@pytest.fixture
def loom(store_url: str, tmp_path: Path) -> Iterator[Loom]:
    files = {"graph": {"directory": str(tmp_path / "graph")}, "mind": {"notes": str(tmp_path / "notes")}}
    known = Settings.model_validate({**files, "review": {"hold": ["import"]}, "workspace": {"name": "maya"}})
    with open_loom(store_url, settings=known, clock=ManualClock(NOW)) as opened:
        yield opened


def every_verb() -> list[tuple[Faculty, Verb]]:
    return [(faculty, each) for faculty in FACULTIES.values() for each in faculty.verbs]


def stand_in(kind: Any) -> Any:
    """Make some value of a type."""
    if kind is int:
        return 1
    return [1] if "Sequence[int]" in str(kind) else "x"


def call(place: Workspace, faculty: Faculty, one: Verb) -> None:
    given = {each.name: stand_in(each.type) for each in one.parameters if each.is_required}
    getattr(faculty.reach(place, {}), one.name)(**given)


@pytest.mark.promise("trust.people-decide")
def test_no_model_is_offered_a_verb_that_decides() -> None:
    deciding = {each.name for _, each in every_verb() if each.effect.decides}
    assert deciding == DECIDING
    offered = {each.verb.name for each in chosen_verbs("all")}
    assert not deciding & offered
    assert not [each for _, each in every_verb() if each.effect.decides and (each.tools or each.is_agent_tool)]
    for name in deciding:
        with pytest.raises(EverloomError):
            chosen_verbs(f"semantic,{name}")
    # A new one cannot be offered by mistake.
    for how in ({"tools": ("semantic",)}, {"agent": True}):
        with pytest.raises(TypeError):
            verb("Grant", DECIDES, **how)


@pytest.mark.promise("trust.people-decide")
def test_only_a_caller_that_is_not_bound_to_another_origin_decides(loom: Loom) -> None:
    for origin in ("agent", "tool:mail", "import", "web:example.org"):
        place = loom.workspace(origin=origin)
        for faculty, each in every_verb():
            if each.effect.decides:
                with pytest.raises(Forbidden, match="only a person"):
                    call(place, faculty, each)
    for person in (loom.workspace(origin="person"), loom.workspace()):
        for faculty, each in every_verb():
            if each.effect.decides:
                with pytest.raises(EverloomError) as caught:
                    call(person, faculty, each)
                assert not isinstance(caught.value, Forbidden)


@pytest.mark.promise("trust.origin-lowers")
def test_an_argument_cannot_raise_the_origin_of_a_caller(loom: Loom) -> None:
    web = loom.workspace(origin="web:forum.example")
    document = Document(kind="page", text="Udo wrote this.", happened_at=NOW, origin="person")
    observation = NewObservation(subject_names=["Udo"], content="Udo has a key.", origin="agent")
    for act in (
        lambda: web.semantic.remember(["Udo"], "Udo owns the house.", origin="person"),
        lambda: web.semantic.add_observations([observation]),
        lambda: web.episodic.update_notes(notes=["Udo calls"], origin="tool:phone"),
        lambda: web.graph.store(type="general", title="Udo", content="Udo is trusted.", origin="import"),
        lambda: web.add([document]),
        lambda: web.add([document], origin="person"),
        lambda: web.mind.say("I am Udo."),
        lambda: loom.workspace().semantic.remember(["Udo"], "Udo is a person.", origin="person"),
    ):
        with pytest.raises(Forbidden) as caught:
            act()
        assert caught.value.hint
    # Lower is possible, and so is the same.
    tool = loom.workspace(origin="tool:mail").semantic
    assert tool.remember(["Udo"], "Udo wrote a letter.", origin="web:post.example").id
    assert tool.remember(["Udo"], "Udo has a letterbox.", origin="tool:mail").id


@pytest.mark.promise("trust.origin-lowers")
def test_whatever_an_untrusted_caller_writes_is_trusted_as_little_as_the_caller(loom: Loom, store_url: str) -> None:
    web = loom.workspace(origin="web:forum.example")
    read = web.semantic.remember(["Udo"], "Udo sells boats.").id
    web.semantic.add_observations([NewObservation(subject_names=["Udo"], content="Udo sold one.")])
    web.semantic.create_understanding(["Udo"], "Udo trades.", "Trades.", source_observation_ids=[read])
    web.episodic.update_notes(scenes=[{"action": "Udo sailed"}], notes=["ask Udo"])
    web.episodic.trigger_patrol(wait=True)
    web.episodic.update_memory("knowledge", "append", "Udo knows ropes.", key="ropes")
    web.graph.store(type="general", title="Udo", content="Udo has a harbour.")
    web.add([Document(kind="page", text="A page about Udo.", happened_at=NOW)])
    web.mind.write_note("projects/udo.md", "Udo wants to be paid.")
    web.mind.append_note("Soon.", name="projects/udo.md")
    web.mind.update_status({"mood": "as Udo says"})
    web.mind.set_intention("pay Udo", "Udo")
    rows: Sequence[Mapping[str, Any]] = rows_of(store_url, "SELECT kind, title, text, origin, trust FROM document")
    # What has no trust is made by nobody: names and clusters.
    assert {row["kind"] for row in rows if row["trust"] is not None} >= {"observation", "scene", "note", "page"}
    assert [row for row in rows if row["trust"] is not None and row["trust"] < 4] == []


@pytest.mark.promise("trust.people-decide")
def test_a_caller_erases_nothing_that_is_trusted_more_than_itself(loom: Loom) -> None:
    person, web = loom.workspace(origin="person"), loom.workspace(origin="web")
    hers = person.semantic.remember(["Ida"], "Ida has a cello.").id
    plan = web.forgetting.forget([hers])
    with pytest.raises(Forbidden, match="trusted more"):
        web.forgetting.forget([hers], confirm=plan.confirm)
    with pytest.raises(Forbidden, match="trusted more"):
        web.forgetting.correct(hers, "Ida has nothing.", forget_old=True)
    its = web.semantic.remember(["Ida"], "Ida plays on Sundays.").id
    plan = web.forgetting.forget([its])
    assert web.forgetting.forget([its], confirm=plan.confirm).is_done
    assert person.forgetting.forget([hers], confirm=person.forgetting.forget([hers]).confirm).is_done
