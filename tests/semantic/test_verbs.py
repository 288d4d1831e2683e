"""Every verb's fields, and that every answer can be written as JSON and read back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter

from everloom.errors import Conflict
from everloom.loom import Loom
from everloom.semantic import NewObservation, NewSubject, Semantic
from tests.semantic.conftest import NOW


def as_json(answer: object) -> Any:
    """Write an answer as JSON values, after a way there and back."""
    shape: Any = type(answer)
    if isinstance(answer, tuple):
        shape = tuple[type(answer[0]), ...]  # type: ignore[misc]
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    dumped = adapter.dump_json(answer)
    assert adapter.validate_json(dumped) == answer
    return adapter.dump_python(answer, mode="json")


def fields(answer: object, *names: str) -> Any:
    """Check that an answer has at least these fields, and hand it on as JSON."""
    told = as_json(answer)
    first = told[0] if isinstance(told, list) else told
    assert [name for name in names if name not in first] == []
    return told


@pytest.fixture
def known(mind: Semantic) -> dict[str, int]:
    """A small memory."""
    one = mind.remember(["James", "Audrey"], "James and Audrey are married.", kind="fact", confidence=0.9)
    two = mind.remember(["James", "sailing"], "James sails on Sundays.")
    mind.set_subject_summary("James", "A friend")
    mind.set_subject_tags("James", ["person", "Friend"])
    single = mind.create_understanding(
        ["James"], "James is a married sailor.", "Sailor", source_observation_ids=[two.id]
    )
    pair = mind.create_understanding(["James", "Audrey"], "A happy couple.", "Couple", source_observation_ids=[one.id])
    note = mind.set_structural_understanding("James", "Also called Jim.")
    return {"one": one.id, "two": two.id, "single": single.id, "pair": pair.id, "note": note.understanding_id}


@pytest.mark.promise("semantic.shapes")
def test_orient_hands_out_documents_and_the_state_of_things(mind: Semantic, known: dict[str, int]) -> None:
    told = fields(
        mind.orient(), "soul", "protocol", "orientation", "pending_consolidation_count", "recent_activity",
        "current_time", "this_session", "recent_sessions",
    )  # fmt: skip
    for name in ("soul", "protocol"):
        assert {"content", "summary", "updated_at", "compaction_note"} <= told[name].keys()
    assert {"content", "summary", "updated_at"} <= told["orientation"].keys()
    assert "compaction_note" not in told["orientation"]
    assert told["recent_activity"]["subjects_with_new_observations"] == ["sailing", "James", "Audrey"] or set(
        told["recent_activity"]["subjects_with_new_observations"]
    ) == {"James", "Audrey", "sailing"}
    assert set(told["recent_activity"]["subjects_with_new_understandings"]) == {"James", "Audrey"}
    assert told["current_time"].endswith("Monday")
    assert told["pending_consolidation_count"] == 3
    begun = mind.begin_consolidation()
    mind.finish_consolidation(begun.generation, "Done.")
    assert mind.orient().recent_activity is None


@pytest.mark.promise("semantic.shapes")
def test_retrieval_answers_in_the_contracts_shapes(mind: Semantic, known: dict[str, int]) -> None:
    brought = fields(
        mind.bring_to_mind("married"), "compaction_note", "heartbeat_token", "compaction_detected", "results"
    )
    assert brought["compaction_note"].startswith("DISPOSABLE")
    wanted = {"id", "source", "subject_names", "summary", "content", "relevance_score", "generation"}
    assert wanted <= brought["results"][0].keys()
    asked = fields(mind.recall("who is married?"), "best_answer", "supporting", "provenance")
    assert {"subject_names", "content", "confidence", "kind", "source"} <= asked["best_answer"].keys()
    supported = fields(mind.recall("what about James, the married sailor on Sundays?"), "supporting")
    assert {"subject_names", "content", "score", "answers"} <= supported["supporting"][0].keys()
    assert asked["provenance"]["session_id"] == "monday"
    assert asked["provenance"]["model_tier"] == "large"
    told = fields(
        mind.recall("james"),
        "subject",
        "single_subject_understanding",
        "structural_understanding",
        "recent_observations",
    )
    assert told["subject"] == {"name": "James", "summary": "A friend", "tags": ["person", "Friend"]}
    assert {"id", "content", "summary", "generation", "updated_at"} <= told["single_subject_understanding"].keys()
    assert told["structural_understanding"]["content"] == "Also called Jim."
    assert [each["id"] for each in told["recent_observations"]] == [known["two"], known["one"]]
    found = fields(
        mind.search("married", 5),
        "id",
        "kind",
        "subject_names",
        "summary",
        "matched_content",
        "matched_perspective",
        "score",
    )
    assert {each["kind"] for each in found} == {"understanding", "observation"} or found
    assert {each.id for each in mind.query_observations(["James"], "Sunday", "text")} == {known["two"]}
    assert mind.query_observations(["James", "Audrey"], "couple")[0].id == known["one"]
    assert mind.query_observations(["James", "Audrey"], "Sunday", "text") == ()
    assert mind.recall("zzz qqq xxx").workspace_activity is None


@pytest.mark.promise("semantic.shapes")
def test_neighbourhoods_and_intersections_are_measured(mind: Semantic, known: dict[str, int]) -> None:
    around = fields(mind.open_around("James"), "subject", "neighbors")
    first, second = around["neighbors"]
    assert (first["subject"]["name"], first["intersection_size"]) == ("Audrey", 2)
    assert first["intersection_understanding"]["id"] == known["pair"]
    assert (second["subject"]["name"], second["intersection_size"]) == ("sailing", 1)
    assert isinstance(second["similarity_score"], float)
    opened = fields(
        mind.open_intersection("audrey", "James"), "subject_a", "subject_b", "relationship_understanding",
        "other_understandings", "observations", "intersection_size",
    )  # fmt: skip
    assert opened["relationship_understanding"]["id"] == known["pair"]
    assert opened["relationship_understanding"]["source_observation_ids"] == [known["one"]]
    assert [each["id"] for each in opened["observations"]] == [known["one"]]
    assert opened["intersection_size"] == 2
    wide = mind.create_understanding(["James", "Audrey", "sailing"], "They sail.", "They sail")
    again = mind.open_intersection("James", "Audrey")
    assert [each.id for each in again.other_understandings] == [wide.id]
    assert again.intersection_size == 3
    assert mind.open_around("sailing").neighbors[0].intersection_understanding is None


@pytest.mark.promise("semantic.shapes")
def test_subjects_answer_in_the_contracts_shapes(mind: Semantic, known: dict[str, int]) -> None:
    (made,) = mind.create_subjects([NewSubject(name="Lisbon", summary="A city", tags=("place",))])
    assert (made.name, made.created_at) == ("Lisbon", NOW)
    told = fields(
        mind.get_subjects(["james", "Lisbon"]), "name", "summary", "tags", "single_subject_understanding",
        "structural_understanding", "observation_count", "last_observation_at",
    )  # fmt: skip
    assert told[0]["single_subject_understanding"].keys() >= {"id", "summary", "generation"}
    assert told[0]["structural_understanding"] == {"id": known["note"], "summary": "Also called Jim."}
    assert (told[0]["observation_count"], told[1]["last_observation_at"]) == (2, None)
    assert [each.name for each in mind.get_subjects_by_tag("FRIEND")] == ["James"]
    assert mind.get_subjects_by_tag("nothing") == ()
    assert made.id not in {hit.id for hit in mind.search("Lisbon, a city")}


@pytest.mark.promise("semantic.shapes")
def test_observations_keep_when_they_were_made(mind: Semantic) -> None:
    then = datetime(1999, 12, 31, 23, 0, tzinfo=UTC)
    answers = mind.add_observations(
        [
            NewObservation(subject_names=("A", "B"), content="One.", kind="fact", confidence=0.3, observed_at=then),
            NewObservation(subject_names=("b",), content="Two."),
            NewObservation(subject_names=("C",), content="One."),
        ]
    )
    fields(answers, "id", "content", "subject_names", "subjects_created")
    assert [each.subjects_created for each in answers] == [("A", "B"), (), ("C",)]
    assert [each.duplicate for each in answers] == [False, False, True]
    assert answers[2].id == answers[0].id
    one = mind.show(answers[0].id)
    assert (one.observed_at, one.created_at) == (then, NOW)  # type: ignore[union-attr]
    assert mind.get_subjects(["A"])[0].last_observation_at == then
    assert [each.content for each in mind.list_observations(["B"])] == ["One.", "Two."]
    assert [each.content for each in mind.list_observations(["B"], after_id=answers[0].id)] == ["Two."]


@pytest.mark.promise("semantic.shapes")
def test_understandings_tell_what_they_rest_on(mind: Semantic, known: dict[str, int]) -> None:
    told = fields(
        mind.get_understandings(["James", "Audrey"]), "id", "kind", "content", "summary", "generation", "version"
    )
    assert told[0]["source_observation_ids"] == [known["one"]]
    updated = fields(
        mind.update_understanding(known["single"], "New.", "New"),
        "old_understanding_id",
        "new_understanding_id",
        "subject_names",
    )
    assert updated["subject_names"] == ["James"]
    fields(mind.create_understanding(["sailing"], "Boats.", "Boats"), "id", "subject_names", "kind", "created_at")
    fields(mind.set_structural_understanding("James", "Jim, too."), "subject_name", "understanding_id", "created_at")
    assert len(mind.get_understanding_history(updated["new_understanding_id"])) == 2


@pytest.mark.promise("semantic.shapes")
def test_the_report_has_every_list_of_the_contract(mind: Semantic, known: dict[str, int]) -> None:
    mind.remember(["James"], "James sold the boat.")
    mind.mark_questionable(known["single"], "old")
    report = fields(
        mind.get_consolidation_report(), "subjects_needing_understanding", "stale_understandings",
        "intersections_needing_synthesis", "semantically_dense_intersections", "unlinked_observations",
        "questionable_items",
    )  # fmt: skip
    assert report["subjects_needing_understanding"][0].keys() >= {"name", "observation_count", "generation"}
    assert report["stale_understandings"][0].keys() >= {"id", "subject_names", "summary", "generation", "last_updated"}
    assert report["unlinked_observations"][0].keys() >= {"subject_names", "content", "created_at"}
    assert report["questionable_items"] == [
        {"id": known["single"], "kind": "understanding", "reason": "old", "flagged_at": "2026-11-02T09:00:00Z",
         "subject_names": ["James"]}
    ]  # fmt: skip
    pairs = {(each["subject_a"], each["subject_b"]) for each in report["intersections_needing_synthesis"]}
    assert pairs == {("James", "sailing")}
    assert fields(mind.get_pending_consolidation(), "item_type", "subject_names", "generation", "priority")
    fields(mind.begin_consolidation(), "generation", "as_of_id", "report")
    fields(mind.get_stats(), "subject_count", "observation_count", "understanding_count", "embedding_coverage",
           "current_generation", "workspace")  # fmt: skip
    mind.update_understanding(known["single"], "Sold it.", "Sold it")
    assert mind.get_consolidation_report().questionable_items == ()


def test_dense_intersections_and_similar_subjects_are_found_by_vectors(mind: Semantic) -> None:
    for text in ("Vacuum settings of the database.", "Index bloat in the database.", "Backups of the database."):
        mind.remember(["PostgreSQL", "database tuning"], text)
    mind.create_subjects([NewSubject(name="garden"), NewSubject(name="gardening")])
    mind.create_understanding(["PostgreSQL"], "A database server that needs vacuum and index care.", "Database server")
    mind.create_understanding(["database tuning"], "Vacuum and index care of a database server.", "Care of a database")
    (dense,) = mind.get_consolidation_report().semantically_dense_intersections
    assert (dense.subject_a, dense.subject_b, dense.intersection_size) == ("PostgreSQL", "database tuning", 3)
    similar = mind.find_similar_subjects(min_score=0.7)
    assert [(each.subject_a, each.subject_b) for each in similar] == [("garden", "gardening")], (
        "what shares much is related"
    )
    begun = mind.begin_consolidation()
    mind.finish_consolidation(begun.generation, "No.", reviewed_intersections=[("PostgreSQL", "database tuning")])
    assert mind.get_consolidation_report().semantically_dense_intersections == ()


def test_similar_subjects_are_also_found_by_spelling(mind: Semantic) -> None:
    for name in ("Wojciech", "Wojceich", "Ann", "Jan"):
        mind.remember([name], f"{name} was mentioned.")
    # Understandings that have nothing in common do not hide it.
    mind.create_understanding(["Wojciech"], "He repairs organs in old churches.", "Organs")
    mind.create_understanding(["Wojceich"], "Owes forty euros for the ferry.", "Owes money")
    assert [(each.subject_a, each.subject_b) for each in mind.find_similar_subjects()] == [("Wojciech", "Wojceich")]
    mind.add_alias("Ann", "Johannes Kepler")
    mind.add_alias("Jan", "Johanes Kepler")
    assert ("Ann", "Jan") in {(each.subject_a, each.subject_b) for each in mind.find_similar_subjects()}


def test_a_summary_gives_a_subject_a_document_and_a_name_alone_does_not(mind: Semantic, loom: Loom) -> None:
    mind.remember(["Lisbon"], "Rain in the city.")
    workspace = loom.workspace("james")
    assert "subject" not in {hit.kind for hit in workspace.search("Lisbon")}
    mind.set_subject_summary("Lisbon", "The capital of Portugal")
    assert workspace.search("capital of Portugal")[0].kind == "subject"
    mind.set_subject_summary("Lisbon", "Where we met")
    assert "subject" not in {hit.kind for hit in workspace.search("capital of Portugal", limit=1)} or (
        workspace.search("capital of Portugal")[0].text == "Where we met"
    )


@pytest.mark.promise("semantic.idempotency")
def test_a_write_that_is_tried_again_answers_alike_and_happens_once(mind: Semantic, known: dict[str, int]) -> None:
    calls: list[Any] = [
        lambda key, n="": mind.remember([f"New{n}"], f"A new thing{n}.", idempotency_key=key),
        lambda key, n="": mind.add_observations(
            [NewObservation(subject_names=("X",), content=f"Thing{n}")], idempotency_key=key
        ),
        lambda key, n="": mind.create_subjects([NewSubject(name=f"Fresh{n}")], idempotency_key=key),
        lambda key, n="": mind.create_understanding(["sailing"], f"Boats{n}.", "Boats", idempotency_key=key),
        lambda key, n="": mind.update_understanding(known["pair"], f"Happy{n}.", "Happy", idempotency_key=key),
        lambda key, n="": mind.set_structural_understanding("James", f"Note{n}.", idempotency_key=key),
        lambda key, n="": mind.set_subject_summary("James", f"Friend{n}", idempotency_key=key),
        lambda key, n="": mind.set_subject_tags("James", [f"tag{n}"], idempotency_key=key),
        lambda key, n="": mind.add_alias("James", f"Jim{n}", idempotency_key=key),
        lambda key, n="": mind.remove_alias("James", f"Jim{n}", idempotency_key=key),
        lambda key, n="": mind.mark_questionable(known["single"], f"old{n}", idempotency_key=key),
        lambda key, n="": mind.describe_session(f"Said{n}", idempotency_key=key),
        lambda key, n="": mind.delete_observations([known["two"], *([1] if n else [])], idempotency_key=key),
        lambda key, n="": mind.merge_subjects("James" if not n else "Audrey", "sailing", idempotency_key=key),
        lambda key, n="": (
            mind.begin_consolidation(idempotency_key=key) if not n else mind.remember([n], n, idempotency_key=key)
        ),
        lambda key, n="": mind.finish_consolidation(1, f"Done{n}.", idempotency_key=key),
    ]
    for number, call in enumerate(calls):
        key = f"key {number}"
        first = call(key)
        before = mind.get_stats()
        assert call(key) == first, number
        assert mind.get_stats() == before
        with pytest.raises(Conflict, match="already used for a different request"):
            call(key, "!")
