"""What is wrong is replaced by what is right, in every faculty, and both can be traced, or the wrong words go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.errors import Conflict, NotFound, Rejected, StoreError
from everloom.kernel.journal import append_event
from everloom.loom import Loom, Workspace, open_loom
from everloom.semantic.results import Observation
from everloom.settings import Settings
from everloom.store import Unit
from tests.episodic.ground import remember, scene
from tests.store.bytes import words_in_files
from tests.store.ground import NOW, assert_agreement, rows_of

WRONG = ("lisbonne",)


@pytest.fixture
def loom(store_url: str, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loom]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = Settings.model_validate(
        {"workspace": {"time_zone": "UTC"}, "episodic": {"patrol_at": 1_000_000, "patrol_hours": 0}}
    )
    with open_loom(store_url, settings=settings, clock=clock) as opened:
        yield opened


@pytest.fixture
def place(loom: Loom) -> Workspace:
    return loom.workspace("maya", session="monday")


def shown(place: Workspace, item: int) -> Node:
    with place.op.read() as unit:
        return nodes_of(unit, [item])[item]


@pytest.mark.promise("correct.traceable")
def test_an_observation_is_superseded_by_the_corrected_one(place: Workspace) -> None:
    semantic = place.semantic
    wrong = semantic.remember(["Maya"], "Maya lives in Lisbonne.", kind="fact", confidence=0.5).id
    done = place.correct(wrong, "Maya lives in Porto.", reason="She moved.")
    assert (done.kind, done.replaced, done.forgotten) == ("observation", wrong, None)
    new = semantic.show(done.id)
    assert isinstance(new, Observation)
    assert (new.content, new.kind, new.confidence) == ("Maya lives in Porto.", "fact", 0.5)
    assert new.subject_names == ("Maya",)
    assert new.observed_at == NOW
    assert next(hit.id for hit in place.search("where does Maya live?")) == done.id
    assert wrong not in [hit.id for hit in place.search("where does Maya live?")]
    assert [each.id for each in place.why(done.id).because] == [*place.show(wrong).sources, wrong]
    old = place.show(wrong)
    assert (old.retired_by, [each.reason for each in old.signals]) == (done.id, ["She moved."])
    assert {each.subject_names for each in semantic.get_pending_consolidation()} == {("Maya",)}
    with pytest.raises(Conflict, match="already superseded"):
        place.correct(wrong, "Maya lives in Faro.")
    with pytest.raises(Rejected, match="says that already"):
        place.correct(done.id, "Maya lives in Porto.")


@pytest.mark.promise("correct.forgets-the-wrong-words")
def test_the_wrong_words_go_if_that_is_wanted(place: Workspace, store_url: str) -> None:
    semantic = place.semantic
    wrong = semantic.remember(["Maya"], "Maya lives in Lisbonne.").id
    text = semantic.create_understanding(["Maya"], "Lives in Lisbonne.", "Lisbonne", source_observation_ids=[wrong])
    right = place.correct(text.id, "Lives in Porto.", forget_old=True)
    assert semantic.show(right.id).content == "Lives in Porto."  # type: ignore[union-attr]
    new = place.correct(wrong, "Maya lives in Porto.", reason="Never Lisbonne.", forget_old=True)
    assert new.forgotten is not None
    assert new.forgotten.is_done
    assert words_in_files(store_url, WRONG) == set()
    assert place.show(new.id).text == "Maya lives in Porto."
    with pytest.raises(NotFound, match="was forgotten"):
        place.show(wrong)
    with pytest.raises(Conflict, match="was forgotten"):
        place.correct(new.id, "Maya lives in Lisbonne.")
    assert_agreement(store_url)


@pytest.mark.promise("correct.traceable")
def test_an_understanding_gets_a_new_version_with_the_reason(place: Workspace) -> None:
    semantic = place.semantic
    seen = semantic.remember(["Maya"], "Maya lives in Porto.").id
    old = semantic.create_understanding(["Maya"], "Lives in Lisbonne.", "Home", source_observation_ids=[seen])
    done = place.correct(old.id, "Lives in Porto.", summary="Where she lives", reason="A typo.")
    new, before = semantic.get_understanding_history(done.id)
    assert (new.content, new.summary, new.reason, new.version) == ("Lives in Porto.", "Where she lives", "A typo.", 2)
    assert (before.id, new.source_observation_ids) == (old.id, (seen,))


@pytest.mark.promise("correct.everything")
def test_every_kind_of_item_can_be_corrected(place: Workspace, store_url: str) -> None:
    being, graph, notes = place.episodic, place.graph, place.mind.notes
    (told,) = remember(being, scene("Maya drank tea in Lisbonne", feeling="calm"))
    retold = place.correct(told, "Maya drank tea in Porto")
    assert shown(place, retold.id).scene.action == "Maya drank tea in Porto"
    assert shown(place, told).absorbed_into == retold.id
    assert next(hit.id for hit in place.search("Maya tea Porto")) == retold.id
    stored = graph.store(type="general", title="Home", content="In Lisbonne.", connect=False)
    assert place.correct(stored.item, "In Porto.").id == stored.item
    assert graph.get(stored.id).content == "In Porto."
    being.update_memory("knowledge", "append", key="home", content="It is in Lisbonne.")
    (entry,) = rows_of(store_url, "SELECT id FROM entry")
    place.correct(entry["id"], "It is in Porto.")
    assert [row["content"] for row in rows_of(store_url, "SELECT content FROM entry")] == ["It is in Porto."]
    notes.write("home.md", "Lisbonne.")
    note = next(row["id"] for row in rows_of(store_url, "SELECT id, name FROM mind_note") if row["name"] == "home.md")
    place.correct(note, "Porto.")
    assert [each.body for each in notes.history("home.md")] == ["Porto.\n", "Lisbonne.\n"]
    subject = place.semantic.remember(["Maya"], "Maya sings.").id
    (maya,) = rows_of(store_url, "SELECT id FROM subject")
    place.correct(maya["id"], "A singer from Porto.")
    assert place.semantic.get_subjects(["Maya"])[0].summary == "A singer from Porto."
    assert place.show(subject).text == "Maya sings."


@pytest.mark.promise("correct.forgets-the-wrong-words")
def test_what_is_corrected_in_its_place_loses_the_wrong_words_too(place: Workspace, store_url: str) -> None:
    being, notes = place.episodic, place.mind.notes
    (told,) = remember(being, scene("Maya drank tea in Lisbonne"))
    assert place.correct(told, "Maya drank tea in Porto", forget_old=True).id == told
    notes.write("home.md", "Lisbonne.")
    note = next(row["id"] for row in rows_of(store_url, "SELECT id, name FROM mind_note") if row["name"] == "home.md")
    place.correct(note, "Porto.", forget_old=True)
    stored = place.graph.store(type="general", title="Home", content="In Lisbonne.", connect=False)
    place.correct(stored.item, "In Porto.", forget_old=True)
    assert words_in_files(store_url, WRONG) == set()
    assert shown(place, told).scene.action == "Maya drank tea in Porto"
    assert_agreement(store_url)


def test_what_cannot_be_corrected_is_refused_with_a_reason(place: Workspace) -> None:
    place.semantic.remember(["Maya"], "Maya sings.")
    with pytest.raises(Rejected, match="cannot be corrected by itself"):
        place.correct(place.events(limit=1)[0].id, "Nothing happened.")
    with pytest.raises(NotFound, match="nothing in this workspace"):
        place.correct(10**9, "Nothing.")
    with pytest.raises(Rejected, match="the text"):
        place.correct(10**9, "  ")


def told(place: Workspace, url: str) -> dict[str, int]:
    """Write an item of each kind that is corrected in the store alone."""
    seen = place.semantic.remember(["Maya"], "Maya lives in Lisbonne.").id
    text = place.semantic.create_understanding(["Maya"], "In Lisbonne.", "Home", source_observation_ids=[seen]).id
    (scene_id,) = remember(place.episodic, scene("Maya drank tea in Lisbonne"))
    place.episodic.update_memory("knowledge", "append", key="home", content="It is in Lisbonne.")
    place.mind.notes.write("home.md", "Lisbonne.")
    (subject,) = rows_of(url, "SELECT id FROM subject")
    (entry,) = rows_of(url, "SELECT id FROM entry")
    note = next(row["id"] for row in rows_of(url, "SELECT id, name FROM mind_note") if row["name"] == "home.md")
    ids = (seen, text, scene_id, entry["id"], note, subject["id"])
    return dict(zip(("observation", "understanding", "scene", "entry", "note", "subject"), ids, strict=True))


@pytest.mark.promise("correct.one-transaction")
@pytest.mark.parametrize("forget_old", [False, True], ids=["kept", "forgotten"])
def test_a_correction_and_its_reason_are_stored_together_or_not_at_all(
    place: Workspace, store_url: str, monkeypatch: pytest.MonkeyPatch, forget_old: bool
) -> None:
    ids = told(place, store_url)
    tables = ("observation", "understanding", "document", "scene", "entry", "mind_note_version", "signal", "event")

    def everything() -> list[object]:
        return [sorted(map(str, rows_of(store_url, f"SELECT * FROM {name}"))) for name in tables]

    def full(unit: Unit, name: str, *given: object) -> int:
        if name == ("forget" if forget_old else "correct"):
            raise StoreError("the disk is full")
        return append_event(unit, name, *given)  # type: ignore[arg-type]

    before = everything()
    with monkeypatch.context() as now:
        now.setattr("everloom.kernel.operation.append_event", full)
        for item in ids.values():
            with pytest.raises(StoreError, match="full"):
                place.correct(item, "It is Porto.", reason="She moved.", forget_old=forget_old)
            assert everything() == before, item
    # The understanding first: it would go with the words of what it rests on.
    for kind, item in sorted(ids.items(), key=lambda each: each[0] == "observation"):
        done = place.correct(item, f"It is Porto, says the {kind}.", reason="She moved.", forget_old=forget_old)
        assert done.replaced == item
    assert_agreement(store_url)
