"""The twelve rules of the page, each by what fails when the rule is taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from everloom.errors import Conflict, NotFound, Rejected
from everloom.loom import Loom
from everloom.semantic import NewObservation, NewSubject, Semantic
from everloom.semantic.results import QuestionRecall, SubjectRecall

Later = Callable[..., datetime]


def waiting(mind: Semantic) -> set[tuple[str, ...]]:
    """List what waits for consolidation, and check that `orient` and the report agree on how much it is."""
    items = mind.get_pending_consolidation()
    assert len(items) == mind.orient().pending_consolidation_count == mind.get_consolidation_report().pending_count
    return {tuple(sorted(item.subject_names)) for item in items}


def consolidated(mind: Semantic, *names: str) -> None:
    """Run a pass that reviews these subjects and changes nothing."""
    begun = mind.begin_consolidation()
    mind.finish_consolidation(begun.generation, "Looked.", names)


# Rule 1


@pytest.mark.promise("semantic.1")
def test_a_duplicate_returns_the_first_id_and_adds_the_new_subject(mind: Semantic) -> None:
    first = mind.remember(["James"], "James sails.", kind="fact", confidence=0.5)
    again = mind.remember(["sailing"], " James\n sails. ", kind="preference", confidence=1.0)
    assert again.id == first.id
    assert again.duplicate
    assert not first.duplicate
    assert set(again.subject_names) == {"James", "sailing"}
    kept = mind.show(first.id)
    assert (kept.kind, kept.confidence, kept.content) == ("fact", 0.5, "James sails.")  # type: ignore[union-attr]
    assert mind.get_stats().observation_count == 1


@pytest.mark.promise("semantic.1")
def test_the_hash_folds_composition_and_white_space_and_keeps_case(mind: Semantic) -> None:
    first = mind.remember(["café"], "Café at noon")
    assert mind.remember(["café"], "Cafe\u0301  at\tnoon ").id == first.id
    assert mind.remember(["café"], "CAFÉ at noon").id != first.id


@pytest.mark.promise("semantic.1")
def test_a_duplicate_adds_its_links(mind: Semantic) -> None:
    first = mind.remember(["James"], "James sails.")
    understanding = mind.create_understanding(["James"], "James lives by the sea.", "By the sea")
    mind.remember(["James"], "James sails.", related_to=[understanding.id])
    (shown,) = mind.get_understandings(["James"])
    assert [each.id for each in shown.linked_observations] == [first.id]


# Rule 2


@pytest.mark.promise("semantic.2")
def test_case_and_joints_do_not_make_another_subject(mind: Semantic) -> None:
    mind.remember(["wealth_simulator"], "The wealth simulator runs.")
    again = mind.remember(["Wealth  Simulator", "wealth-simulator"], "The wealth simulator is fast.")
    assert again.subjects_created == ()
    assert again.subject_names == ("wealth_simulator",)
    assert mind.get_stats().subject_count == 1


@pytest.mark.promise("semantic.2")
def test_an_alias_finds_the_subject_and_cannot_be_taken_twice(mind: Semantic) -> None:
    mind.create_subjects([NewSubject(name="PostgreSQL"), NewSubject(name="SQLite")])
    subject = mind.add_alias("PostgreSQL", "pg")
    assert subject.aliases == ("pg",)
    assert mind.remember(["PG"], "It has row-level security.").subject_names == ("PostgreSQL",)
    with pytest.raises(Conflict, match="already means 'PostgreSQL'"):
        mind.add_alias("SQLite", "Pg")
    with pytest.raises(Conflict):
        mind.create_subjects([NewSubject(name="pg")])
    recalled = mind.recall("pg")
    assert isinstance(recalled, SubjectRecall)
    assert recalled.subject.name == "PostgreSQL"
    assert mind.search("pg", mode="text")[0].subject_names == ("PostgreSQL",)
    assert mind.remove_alias("PostgreSQL", "pg").aliases == ()
    assert mind.search("pg", mode="text") == ()
    assert mind.remember(["pg"], "A play group.").subjects_created == ("pg",)


@pytest.mark.promise("semantic.2")
@pytest.mark.parametrize(
    ("known", "minted"), [("PostgreSQL", "Postgres"), ("memory system", "the memory system project")]
)
def test_a_subject_that_is_close_to_another_is_pointed_out(mind: Semantic, known: str, minted: str) -> None:
    mind.remember([known, "gardening"], "One thing.")
    answer = mind.remember([minted], "Another thing.")
    assert [(each.name, each.similar_to) for each in answer.similar_subjects] == [(minted, known)]
    assert mind.remember(["astronomy"], "A third thing.").similar_subjects == ()
    assert mind.remember([minted], "A fourth thing.").similar_subjects == ()


# Rule 3


@pytest.mark.promise("trust.names-show-what-they-are")
@pytest.mark.parametrize(
    ("known", "minted"),
    [("Anna", "\u0410nn\u0430"), ("\u0410nn\u0430", "Anna"), ("Ann", "Ａnn"), ("Iris", "\u0399ris")],
)
def test_a_subject_that_looks_like_another_is_pointed_out_however_it_is_created(
    mind: Semantic, known: str, minted: str
) -> None:
    mind.create_subjects([NewSubject(name=known)])
    (made,) = mind.create_subjects([NewSubject(name=minted)])
    assert [(each.name, each.similar_to) for each in made.similar_subjects] == [(minted, known)]
    both = mind.create_subjects([NewSubject(name="Paypal"), NewSubject(name="P\u0430yp\u0430l")])
    assert [[alike.similar_to for alike in each.similar_subjects] for each in both] == [[both[1].name], [both[0].name]]


@pytest.mark.promise("semantic.3")
def test_the_first_call_is_no_compaction(mind: Semantic) -> None:
    mind.orient()
    mind.remember(["James"], "James sails.")
    brought = mind.bring_to_mind("sailing")
    assert not brought.compaction_detected
    assert brought.compaction_reason is None


@pytest.mark.promise("semantic.3")
@pytest.mark.parametrize("lost", ["missing_token", "wrong_token"])
def test_a_lost_token_clears_the_seen_log(mind: Semantic, lost: str) -> None:
    mind.remember(["James"], "James sails.")
    first = mind.bring_to_mind("sailing")
    intact = mind.bring_to_mind("sailing", last_token=first.heartbeat_token)
    assert (intact.compaction_detected, intact.results) == (False, ())
    token = None if lost == "missing_token" else intact.heartbeat_token + 1
    after = mind.bring_to_mind("sailing", last_token=token)
    assert (after.compaction_detected, after.compaction_reason) == (True, lost)
    assert [each.content for each in after.results] == ["James sails."]


@pytest.mark.promise("semantic.3")
def test_after_a_compaction_everything_may_come_again_not_only_what_was_asked_for_then(mind: Semantic) -> None:
    nouns = "anchor rudder keel mast boom jib spinnaker hull tiller winch cleat shroud".split()
    drafts = [NewObservation(subject_names=("boat",), content=f"The {noun} is green.") for noun in nouns]
    mind.add_observations([*drafts, NewObservation(subject_names=("cello",), content="A cello string broke.")])
    first = mind.bring_to_mind(["green boats", "broken cello string"])
    assert "A cello string broke." in {each.content for each in first.results}
    lost = mind.bring_to_mind("anchor rudder keel mast boom jib spinnaker hull, all green")
    assert "A cello string broke." not in {each.content for each in lost.results}
    again = mind.bring_to_mind("broken cello string", last_token=lost.heartbeat_token)
    assert not again.compaction_detected
    assert again.results[0].content == "A cello string broke."


@pytest.mark.promise("semantic.3")
def test_the_pause_counts_from_the_last_bring_to_mind_and_from_no_other_call(mind: Semantic, later: Later) -> None:
    mind.remember(["James"], "James sails.")
    token = mind.bring_to_mind("sailing").heartbeat_token
    later(minutes=29)
    token = mind.bring_to_mind("sailing", last_token=token).heartbeat_token
    later(minutes=20)
    mind.recall("James")
    later(minutes=11)
    brought = mind.bring_to_mind("sailing", last_token=token)
    assert (brought.compaction_detected, brought.compaction_reason) == (True, "time_gap")
    assert len(brought.results) == 1


# Rule 4


@pytest.mark.promise("semantic.4")
def test_a_long_session_goes_on_seeing_what_it_has_not_seen(mind: Semantic) -> None:
    nouns = "anchor rudder keel mast boom jib spinnaker hull tiller winch cleat shroud".split()
    texts = [f"The {noun} of the boat was mended by {name} at {hour} o'clock." for noun, name, hour in
             zip(nouns * 3, [*["Anna"] * 12, *["Boris"] * 12, *["Chloe"] * 12], range(36), strict=True)]  # fmt: skip
    mind.add_observations([NewObservation(subject_names=("boat",), content=text) for text in texts])
    seen: list[int] = []
    token = None
    while results := (brought := mind.bring_to_mind("what was mended on the boat", last_token=token)).results:
        seen += [each.id for each in results]
        token = brought.heartbeat_token
    assert len(seen) == len(set(seen)) == len(texts)


@pytest.mark.promise("semantic.4")
def test_recall_marks_as_seen_and_search_does_not(mind: Semantic) -> None:
    mind.remember(["James"], "James sails on Sundays.")
    mind.search("sailing")
    mind.query_observations(["James"], "sailing")
    token = mind.bring_to_mind("sailing", include_seen=True).heartbeat_token
    mind.reset_seen()
    assert isinstance(mind.recall("when does James sail?"), QuestionRecall)
    brought = mind.bring_to_mind("sailing", last_token=token)
    assert brought.results == ()
    assert len(mind.bring_to_mind("sailing", last_token=brought.heartbeat_token, include_seen=True).results) == 1
    assert mind.reset_seen().cleared == 1


# Rule 6


@pytest.mark.promise("semantic.6")
def test_an_observation_after_an_understanding_in_the_same_generation_makes_it_stale(mind: Semantic) -> None:
    mind.remember(["James"], "James sails.")
    assert waiting(mind) == {("James",)}
    understanding = mind.create_understanding(["James"], "James is a sailor.", "A sailor")
    assert waiting(mind) == set()
    mind.remember(["James"], "James sold his boat.")
    (stale,) = mind.get_consolidation_report().stale_understandings
    assert (stale.id, stale.new_observation_count) == (understanding.id, 1)


@pytest.mark.promise("semantic.6")
def test_what_a_writer_had_not_read_stays_new(mind: Semantic, other: Semantic) -> None:
    mind.remember(["James"], "James sails.")
    read = mind.get_consolidation_report().as_of_id
    other.remember(["James"], "James sold his boat.")
    mind.create_understanding(["James"], "James is a sailor.", "A sailor", seen_through_id=read)
    assert waiting(mind) == {("James",)}
    hits = {hit.matched_content for hit in mind.search("What about James and his boat?")}
    assert "James sold his boat." in hits
    assert "James sails." not in hits, "it is covered, and folds under its understanding"


@pytest.mark.promise("semantic.6")
def test_an_old_observation_is_new_to_a_subject_that_it_is_tagged_with_later(mind: Semantic) -> None:
    mind.remember(["James"], "James and Audrey sail.")
    mind.remember(["Audrey"], "Audrey paints.")
    mind.create_understanding(["James"], "A sailor.", "A sailor")
    mind.create_understanding(["Audrey"], "A painter.", "A painter")
    assert waiting(mind) == set()
    mind.remember(["Audrey"], "James and Audrey sail.")
    assert waiting(mind) == {("Audrey",), ("Audrey", "James")}


@pytest.mark.promise("semantic.6")
def test_a_pair_that_a_pass_did_not_get_to_is_still_reported_by_the_next(mind: Semantic) -> None:
    mind.remember(["James", "Audrey"], "James and Audrey are married.")
    for _ in range(2):
        begun = mind.begin_consolidation()
        mind.create_understanding(["James"], "Married.", "Married")
        mind.create_understanding(["Audrey"], "Married.", "Married")
        mind.finish_consolidation(begun.generation, "Subjects only.")
        (need,) = mind.get_consolidation_report().intersections_needing_synthesis
        assert {need.subject_a, need.subject_b} == {"James", "Audrey"}
        assert (need.intersection_size, need.new_generation_count) == (1, 1)
    mind.create_understanding(["James", "Audrey"], "They are married.", "Married to each other")
    assert waiting(mind) == set()


@pytest.mark.promise("semantic.6")
def test_reviewed_and_unchanged_leaves_the_report_and_the_count(mind: Semantic) -> None:
    mind.remember(["James"], "James sails.")
    mind.remember(["James", "Audrey"], "James and Audrey are married.")
    assert len(waiting(mind)) == 3
    begun = mind.begin_consolidation()
    mind.remember(["James"], "James came home while you were reading.")
    finished = mind.finish_consolidation(
        begun.generation, "Looked.", ["james", "Audrey"], reviewed_intersections=[("Audrey", "James")]
    )
    assert finished.reviewed_subject_names == ("James", "Audrey")
    assert waiting(mind) == {("James",)}, "what came after the pass began was not reviewed"
    consolidated(mind, "James")
    assert waiting(mind) == set()


@pytest.mark.promise("semantic.6")
def test_a_subject_that_passes_do_not_get_to_is_called_neglected(mind: Semantic) -> None:
    mind.remember(["James"], "James sails.")
    for _ in range(3):
        assert mind.get_consolidation_report().neglected_subjects == ()
        consolidated(mind)
    (neglected,) = mind.get_consolidation_report().neglected_subjects
    assert (neglected.name, neglected.generations_waiting) == ("James", 3)


# Rule 7


@pytest.mark.promise("semantic.7")
def test_linked_evidence_travels_with_its_understanding_until_that_is_revised(mind: Semantic, loom: Loom) -> None:
    understanding = mind.create_understanding(_with(mind, "James"), "James is a sailor.", "A sailor")
    linked = mind.remember(["James"], "James sold his boat.", related_to=[understanding.id])
    (shown,) = mind.get_understandings(["James"])
    assert [each.content for each in shown.linked_observations] == ["James sold his boat."]
    recalled = mind.recall("James")
    assert isinstance(recalled, SubjectRecall)
    assert recalled.single_subject_understanding is not None
    assert [each.id for each in recalled.single_subject_understanding.linked_observations] == [linked.id]
    mind.reset_seen()
    brought = {each.id: each for each in mind.bring_to_mind("is James a sailor?").results}
    assert [each.id for each in brought[understanding.id].linked_observations] == [linked.id]
    (stale,) = mind.get_consolidation_report().stale_understandings
    assert stale.linked_observation_ids == (linked.id,)
    assert mind.get_consolidation_report().unlinked_observations == ()
    assert linked.id in {each.id for each in loom.workspace("james").why(understanding.id).because}
    new = mind.update_understanding(understanding.id, "James sailed once.", "Sailed once").new_understanding_id
    (shown,) = mind.get_understandings(["James"])
    assert [each.linked_observations for each in mind.get_understanding_history(new)] == [(), ()]
    assert (shown.id, linked.id in shown.source_observation_ids) == (new, True)


def _with(mind: Semantic, *names: str) -> list[str]:
    mind.create_subjects([NewSubject(name=name) for name in names])
    return list(names)


@pytest.mark.promise("semantic.7")
def test_a_link_to_anything_but_an_active_understanding_writes_nothing(mind: Semantic) -> None:
    observation = mind.remember(["James"], "James sails.")
    old = mind.create_understanding(["James"], "A sailor.", "A sailor")
    new = mind.update_understanding(old.id, "An old sailor.", "Old sailor")
    before = mind.get_stats()
    with pytest.raises(NotFound):
        mind.remember(["Nobody"], "Something new.", related_to=[10**9])
    with pytest.raises(Conflict, match=str(new.new_understanding_id)):
        mind.remember(["Nobody"], "Something new.", related_to=[old.id])
    with pytest.raises(Rejected, match="is an observation"):
        mind.remember(["Nobody"], "Something new.", related_to=[observation.id])
    assert mind.get_stats() == before


# Rule 8


@pytest.mark.promise("semantic.8")
def test_superseding_keeps_sources_and_moves_every_pointer(mind: Semantic) -> None:
    one, two = mind.remember(["James"], "James sails."), mind.remember(["James"], "James paints.")
    first = mind.create_understanding(["James"], "A sailor.", "A sailor", source_observation_ids=[one.id])
    second = mind.update_understanding(
        first.id, "A sailor who paints.", "Sailor, painter", source_observation_ids=[two.id], reason="he paints"
    )
    (shown,) = mind.get_understandings(["James"])
    assert shown.source_observation_ids == (one.id, two.id)
    assert (shown.version, shown.reason) == (2, "he paints")
    (subject,) = mind.get_subjects(["James"])
    assert subject.single_subject_understanding is not None
    assert subject.single_subject_understanding.id == second.new_understanding_id
    history = mind.get_understanding_history(second.new_understanding_id)
    assert [each.id for each in history] == [second.new_understanding_id, first.id]
    assert history[1].superseded_by == second.new_understanding_id
    soul = mind.orient().soul
    fresh = mind.update_understanding(soul.id, "Be kind.", "Kind").new_understanding_id
    assert (mind.orient().soul.id, mind.orient().soul.content) == (fresh, "Be kind.")


@pytest.mark.promise("semantic.8")
def test_a_superseded_id_is_refused_with_the_name_of_the_head(mind: Semantic) -> None:
    first = mind.create_understanding(_with(mind, "James"), "One.", "One")
    head = mind.update_understanding(first.id, "Two.", "Two").new_understanding_id
    head = mind.update_understanding(head, "Three.", "Three").new_understanding_id
    with pytest.raises(Conflict, match=f"{head} is current") as caught:
        mind.update_understanding(first.id, "Four.", "Four")
    assert caught.value.current.id == head  # type: ignore[attr-defined]
    with pytest.raises(Conflict):
        mind.mark_useful(first.id)


@pytest.mark.promise("semantic.8")
def test_the_same_kind_on_the_same_subjects_takes_the_place_of_the_active_one(mind: Semantic) -> None:
    names = _with(mind, "James", "Audrey", "sea")
    first = mind.create_understanding(names[:2], "Friends.", "Friends")
    wider = mind.create_understanding(names, "All three.", "All three")
    second = mind.create_understanding(["audrey", "JAMES"], "Married.", "Married")
    assert (first.kind, second.superseded, second.version) == ("relationship", (first.id,), 2)
    assert {each.id for each in mind.get_understandings(["James", "Audrey"])} == {wider.id, second.id}


@pytest.mark.promise("semantic.8")
def test_a_revision_that_changes_subjects_leaves_the_old_subject_waiting(mind: Semantic) -> None:
    mind.remember(["James"], "James sails.")
    mind.remember(["Audrey"], "Audrey paints.")
    first = mind.create_understanding(["James"], "A painter.", "A painter")
    audrey = mind.create_understanding(["Audrey"], "A woman.", "A woman")
    moved = mind.update_understanding(first.id, "A painter.", "A painter", subject_names=["Audrey"])
    james, hers = mind.get_subjects(["James", "Audrey"])
    assert james.single_subject_understanding is None
    assert hers.single_subject_understanding is not None
    assert hers.single_subject_understanding.id == moved.new_understanding_id
    with pytest.raises(Conflict):
        mind.update_understanding(audrey.id, "x", "x")
    assert ("James",) in waiting(mind)


# Rule 9


def test_a_subject_is_found_by_a_tag_that_it_got_later(mind: Semantic, loom: Loom) -> None:
    mind.remember(["PostgreSQL"], "It vacuums at night.")
    mind.set_subject_summary("PostgreSQL", "Where the orders are kept")
    mind.set_subject_tags("PostgreSQL", ["elephant"])
    (subject,) = [hit for hit in loom.workspace("james").search("elephant") if hit.kind == "subject"]
    assert "elephant" in subject.labels


@pytest.mark.promise("semantic.9")
def test_merging_leaves_one_subject_with_one_understanding(mind: Semantic, loom: Loom) -> None:
    one = mind.remember(["PostgreSQL", "James"], "James runs PostgreSQL.")
    two = mind.remember(["Postgres", "James"], "Postgres vacuums.")
    both = mind.remember(["PostgreSQL", "Postgres"], "Postgres is PostgreSQL.")
    mind.set_subject_tags("PostgreSQL", ["database"])
    mind.set_subject_tags("Postgres", ["Database", "elephant"])
    mind.set_subject_summary("Postgres", "A database with an elephant")
    mind.add_alias("Postgres", "pg")
    kept = mind.create_understanding(["PostgreSQL"], "A database.", "Database")
    lost = mind.create_understanding(["Postgres"], "An elephant.", "Elephant", source_observation_ids=[two.id])
    linked = mind.remember(["Postgres"], "It never forgets.", related_to=[lost.id])
    relation = mind.create_understanding(["PostgreSQL", "Postgres"], "Two names of one thing.", "Same")
    with_james = mind.create_understanding(["PostgreSQL", "James"], "He likes it.", "Likes")
    james_two = mind.create_understanding(["Postgres", "James"], "He vacuums.", "Vacuums")
    mind.set_structural_understanding("Postgres", "A nickname.")

    merged = mind.merge_subjects("PostgreSQL", "postgres")

    assert (merged.merged, merged.observations_moved, merged.single_subject_understanding_id) == (True, 3, kept.id)
    assert set(merged.aliases) == {"Postgres", "pg"}
    (subject,) = mind.get_subjects(["pg"])
    assert (subject.name, subject.tags, subject.observation_count) == ("PostgreSQL", ("database", "elephant"), 4)
    assert subject.summary == "A database with an elephant"
    active = {each.id: each for each in mind.get_understandings(["PostgreSQL"])}
    assert [each.id for each in active.values() if each.kind == "single_subject"] == [kept.id]
    assert two.id in active[kept.id].source_observation_ids
    assert [each.id for each in active[kept.id].linked_observations] == [linked.id]
    note = active[merged.structural_understanding_id]
    assert all(words in note.content for words in ("Two names of one thing.", "A nickname.", "Merged with Postgres"))
    assert [each.id for each in active.values() if each.kind == "relationship"] == [with_james.id]
    for gone in (lost, relation, james_two):
        with pytest.raises(Conflict):
            mind.update_understanding(gone.id, "x", "x")
    opened = mind.open_intersection("postgres", "James")
    assert opened.relationship_understanding is not None
    assert opened.relationship_understanding.id == with_james.id
    assert {each.id for each in opened.observations} == {one.id, two.id}
    assert mind.show(both.id).subject_names == ("PostgreSQL",)  # type: ignore[union-attr]
    assert mind.get_stats().subject_count == 2
    assert ("PostgreSQL",) in waiting(mind), "what the kept understanding has not seen is new to it"
    assert loom.workspace("james").events(limit=3)[0].operation in {"merge_subjects", "orient"}
    assert "merge_subjects" in {event.operation for event in loom.workspace("james").events(limit=5)}


@pytest.mark.promise("semantic.9")
def test_merging_into_a_bare_name_keeps_the_duplicates_understanding(mind: Semantic) -> None:
    mind.remember(["PostgreSQL"], "It is a database.")
    mind.remember(["Postgres"], "It vacuums.")
    only = mind.create_understanding(["Postgres"], "An elephant.", "Elephant")
    assert waiting(mind) == {("PostgreSQL",)}
    assert mind.merge_subjects("PostgreSQL", "Postgres").single_subject_understanding_id == only.id
    assert waiting(mind) == {("PostgreSQL",)}, "the understanding has not seen what the primary had"
    (stale,) = mind.get_consolidation_report().stale_understandings
    assert (stale.id, stale.new_observation_count) == (only.id, 1)


@pytest.mark.promise("semantic.9")
def test_what_the_kept_understanding_never_saw_is_new_after_a_merge(mind: Semantic) -> None:
    mind.remember(["Postgres", "James"], "James runs Postgres.")
    mind.remember(["PostgreSQL", "James"], "James likes PostgreSQL.")
    for names in (["Postgres"], ["PostgreSQL"], ["James"], ["Postgres", "James"], ["PostgreSQL", "James"]):
        mind.create_understanding(names, "All there is.", "All")
    assert waiting(mind) == set()
    mind.merge_subjects("PostgreSQL", "Postgres")
    assert waiting(mind) == {("PostgreSQL",), ("James", "PostgreSQL")}
    (stale,) = mind.get_consolidation_report().stale_understandings
    assert stale.new_observation_count == 1


# Rule 10


@pytest.mark.promise("semantic.10")
def test_only_the_same_session_takes_back_and_only_until_the_generation_moves_on(
    mind: Semantic, other: Semantic
) -> None:
    slip = mind.remember(["James", "Audrey"], "James hates Audrey.")
    foreign = other.remember(["James"], "James sails.")
    cited = mind.remember(["James"], "James paints.")
    understanding = mind.create_understanding(["James"], "A painter.", "A painter", source_observation_ids=[cited.id])
    linked = mind.remember(["James"], "James paints badly.", related_to=[understanding.id])
    answer = mind.delete_observations([slip.id, foreign.id, cited.id, linked.id, understanding.id, 10**9])
    assert answer.deleted == (slip.id, linked.id)
    assert {each.id: each.reason for each in answer.rejected} == {
        foreign.id: "session mismatch",
        cited.id: f"understanding {understanding.id} is based on it",
        understanding.id: "not an observation but an understanding",
        10**9: "not found",
    }
    with pytest.raises(NotFound):
        mind.show(slip.id)
    assert mind.search("hates") == () or all(hit.id != slip.id for hit in mind.search("hates"))
    assert mind.get_subjects(["Audrey"])[0].observation_count == 0
    assert mind.open_around("James").neighbors == ()
    assert not mind.remember(["James"], "James hates Audrey.").duplicate
    late = mind.remember(["James"], "James sings.")
    mind.begin_consolidation()
    assert mind.delete_observations([late.id]).rejected[0].reason == "already consolidated"


# Rule 11


@pytest.mark.promise("semantic.11")
def test_a_workspace_starts_with_documents_of_its_own(mind: Semantic) -> None:
    oriented = mind.orient()
    assert len(oriented.soul.content) < 2_000
    assert len(oriented.orientation.content) < 1_000
    norms = ("Naming", "Tagging", "unlinked", "`related_to`", "Intersections", "The soul", "Structural notes")
    assert [norm for norm in norms if norm not in oriented.protocol.content] == []
    assert oriented.soul.compaction_note.startswith("CRITICAL")
    assert oriented.protocol.compaction_note.startswith("CRITICAL")
    assert mind.orient().soul.id == oriented.soul.id
    assert mind.get_consolidation_report().soul_hints == ()
    assert mind.get_stats().understanding_count == 3


# Rule 12


@pytest.mark.promise("semantic.12")
def test_an_agent_consolidates_by_the_report_alone(mind: Semantic, other: Semantic) -> None:
    mind.remember(["James", "Audrey"], "James and Audrey are married.")
    mind.remember(["James", "Audrey"], "They met at sea.")
    other.remember(["James"], "James sails.")
    begun = mind.begin_consolidation()
    report = begun.report
    assert [each.session_id for each in report.sessions_needing_description] == ["monday", "tuesday"]
    for session in report.sessions_needing_description:
        mind.describe_session("Talked about James", session_id=session.session_id)
    for subject in report.subjects_needing_understanding:
        read = mind.list_observations([subject.name])
        mind.create_understanding(
            [subject.name], "What is known.", "Known", source_observation_ids=[each.id for each in read],
            seen_through_id=begun.as_of_id, expected_version=0,
        )  # fmt: skip
    for pair in report.intersections_needing_synthesis:
        mind.create_understanding([pair.subject_a, pair.subject_b], "Married, met at sea.", "Married")
    place = mind.orient().orientation
    mind.update_understanding(place.id, "James and Audrey are known now.", "James, Audrey", expected_version=1)
    done = mind.finish_consolidation(begun.generation, "First pass.")
    assert done.pending_consolidation_count == 0
    after = mind.get_consolidation_report()
    assert (after.sessions_needing_description, after.unlinked_observations) == ((), ())
    assert waiting(mind) == set()


@pytest.mark.promise("semantic.12")
def test_a_pass_is_ended_once_and_only_by_its_own_number(mind: Semantic) -> None:
    with pytest.raises(Conflict, match="no consolidation is open"):
        mind.finish_consolidation(0, "Nothing.")
    first = mind.begin_consolidation().generation
    second = mind.begin_consolidation().generation
    assert (first, second) == (1, 2)
    with pytest.raises(Conflict, match="generation 2 is open"):
        mind.finish_consolidation(first, "Late.")
    mind.finish_consolidation(second, "Done.")
    with pytest.raises(Conflict):
        mind.finish_consolidation(second, "Again.")
    assert mind.remember(["James"], "x").id
    assert mind.list_observations(["James"])[0].generation == 2


# The time axis


@pytest.mark.promise("semantic.sessions")
def test_a_session_note_is_rewritten_in_place_and_not_stale_afterwards(mind: Semantic, later: Later) -> None:
    mind.remember(["James"], "James sails.", kind="fact")
    assert len(mind.get_consolidation_report().sessions_needing_description) == 1
    first = mind.describe_session("Met James", "He sails.")
    assert mind.get_consolidation_report().sessions_needing_description == ()
    later(minutes=5)
    again = mind.describe_session("Met James and liked him", expected_version=1)
    assert (again.understanding_id, again.version) == (first.understanding_id, 2)
    assert mind.get_consolidation_report().sessions_needing_description == ()
    with pytest.raises(Conflict):
        mind.describe_session("Stale", expected_version=1)
    story = mind.what_happened("monday")
    assert (story.session.summary, [each.kind for each in story.observations]) == ("Met James and liked him", ["fact"])
    assert mind.search("liked him")[0].id == first.understanding_id
    mind.remember(["James"], "James paints.")
    (need,) = mind.get_consolidation_report().sessions_needing_description
    assert need.existing_understanding is not None
    assert need.existing_understanding.version == 2


@pytest.mark.promise("semantic.sessions")
def test_sessions_are_listed_by_activity_or_by_start(mind: Semantic, other: Semantic, later: Later) -> None:
    mind.remember(["James"], "James sails.")
    start = later(hours=30)
    other.remember(["James"], "James paints.")
    assert [each.session_id for each in mind.sessions()] == ["tuesday", "monday"]
    assert [each.session_id for each in mind.sessions(active_within_hours=24)] == ["tuesday"]
    assert [each.session_id for each in mind.sessions(before=start)] == ["monday"]
    assert [each.session_id for each in mind.sessions(after=start - timedelta(hours=1))] == ["tuesday"]
    later(hours=20)
    oriented = other.orient()
    assert oriented.this_session is not None
    assert oriented.this_session.session_id == "tuesday"
    assert [each.session_id for each in oriented.recent_sessions] == ["tuesday"]
    assert oriented.current_time == "2026-11-04 11:00 +0000, Wednesday"


@pytest.mark.promise("semantic.activity")
def test_every_layer_2_answer_tells_once_what_others_wrote(mind: Semantic, other: Semantic) -> None:
    mind.orient()
    long = " ".join(f"word{n}" for n in range(40))
    for n in range(6):
        other.remember(["James"], f"{n} {long}")
    seen = mind.remember(["Audrey"], "Audrey paints.").workspace_activity
    assert seen is not None
    assert [each.preview[0] for each in seen] == ["5", "4", "3", "2", "1"]
    assert (seen[0].kind, seen[0].subject_names, len(seen[0].preview.split())) == ("observation", ("James",), 20)
    understanding = mind.create_understanding(["James"], "Words.", "Words").id
    assert mind.mark_useful(understanding).workspace_activity is None, "own writing is no news"
    calls: list[Callable[[], object]] = [
        lambda: mind.bring_to_mind("words"),
        lambda: mind.recall("James"),
        lambda: mind.recall("which words?"),
        mind.reset_seen,
        lambda: mind.open_around("James"),
        lambda: mind.open_intersection("James", "Audrey"),
        lambda: mind.mark_questionable(understanding),
        mind.orient,
        lambda: mind.remember(["James"], "Own words."),
        lambda: mind.update_understanding(understanding, "New words.", "New"),
    ]
    for n, call in enumerate(calls):
        news = other.remember(["James"], f"News {n}.")
        answer = call().workspace_activity  # type: ignore[attr-defined]
        assert [each.id for each in answer] == [news.id], n
    assert mind.recall("James").workspace_activity is None


@pytest.mark.promise("semantic.activity")
def test_without_a_session_there_is_no_activity_and_nothing_seen(loom: Loom, other: Semantic) -> None:
    nobody = loom.workspace("james").semantic
    other.remember(["James"], "James sails.")
    for _ in range(2):
        brought = nobody.bring_to_mind("sailing")
        assert (len(brought.results), brought.compaction_detected, brought.workspace_activity) == (1, False, None)
    assert nobody.orient().this_session is None
    with pytest.raises(Rejected):
        nobody.describe_session("Nothing")
    written = nobody.remember(["James"], "James paints.")
    refused = nobody.delete_observations([written.id])
    assert refused.rejected[0].reason == "session mismatch"
    assert refused.note is not None
    assert refused.note.startswith("forget ")


@pytest.mark.promise("search.details")
def test_what_a_document_also_tells_stays_findable_when_it_gets_another_subject(loom: Loom, mind: Semantic) -> None:
    known = mind.remember(["James"], "A day at sea.")
    op = loom.workspace("james").op
    with op.write("tell more") as tx:
        document = replace(op.index.documents(tx.unit, [known.id])[known.id], details="a lighthouse")
        op.index.revise(tx.unit, known.id, op.index.prepare([document]), tx.at)
    assert mind.remember(["Elba"], "A day at sea.").duplicate
    assert [hit.id for hit in mind.search("lighthouse", mode="text")] == [known.id]
    assert [hit.id for hit in mind.search("Elba", mode="text")] == [known.id]
