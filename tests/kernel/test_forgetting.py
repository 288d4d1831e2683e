"""What is forgotten is gone, with what was made of it, from every answer and from every file; nothing else is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from importlib import resources
from pathlib import Path
from threading import Timer
from typing import NoReturn

import psycopg
import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, NotFound, Rejected, StoreError
from everloom.kernel.forgetting.erasing import make_plan
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces, blanked, numbers_in, only_in
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.search import Document, Scope
from everloom.kernel.texts import content_hash
from everloom.kernel.work.jobs import JobPlan, JobRun
from everloom.loom import Loom, Workspace, open_loom
from everloom.semantic import Lesson, NewObservation
from everloom.semantic.evidence import learn
from everloom.semantic.results import Learnt
from everloom.settings import Settings
from everloom.store import Unit
from everloom.store.migrations import text_tables
from tests.engines import PostgresServer
from tests.patience import PATIENCE, wait_until
from tests.store.bytes import words_in_files
from tests.store.ground import NOW, as_superuser, assert_agreement, is_sqlite, note, open_at, rows_of
from tests.store.test_checksums import change
from tests.store.test_schema import structure

WORDS = ("melanoma", "zweibruecken", "hidden clinic")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the cleaning outlast the transactions of other tests, which share the server."""
    monkeypatch.setattr("everloom.store.postgresql.scrubbing._OLDER_SECONDS", PATIENCE)


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    with open_at(store_url, clock) as opened:
        yield opened


@pytest.fixture
def place(loom: Loom) -> Workspace:
    return loom.workspace("james", session="monday")


def ill(place: Workspace) -> int:
    """Store what will be forgotten."""
    told = "James was treated for melanoma in Zweibruecken."
    return place.semantic.remember(["James", "Hidden Clinic"], told, idempotency_key="ill").id


def agreed(place: Workspace, *ids: int) -> list[int]:
    """Forget items as a person does who has looked at the preview; give what went."""
    preview = place.forget(ids)
    done = place.forget(ids, confirm=preview.confirm)
    assert done.is_done
    return [each.id for each in done.items]


@pytest.mark.promise("forget.words-gone")
def test_no_file_of_the_store_holds_the_words_of_what_was_forgotten(store_url: str, loom: Loom) -> None:
    place = loom.workspace("james", session="monday")
    sick, sails = ill(place), place.semantic.remember(["James"], "James sails every Sunday.").id
    place.semantic.mark_questionable(sick, "melanoma is the wrong word")
    place.semantic.describe_session("Health", "We spoke about melanoma.")
    older = place.semantic.create_understanding(
        ["James"], "James sails; melanoma.", "Sails", source_observation_ids=[sick]
    )
    place.semantic.update_understanding(older.id, "Melanoma, and sailing.", "Both", source_observation_ids=[sails])
    assert words_in_files(store_url, WORDS) != set()
    agreed(place, sick)
    assert words_in_files(store_url, WORDS) == set()
    assert words_in_files(store_url, ["sunday"]) == {"sunday"}
    assert [hit.id for hit in place.search("who sails on Sunday?")][:1] == [sails]
    assert [row["term"] for row in rows_of(store_url, "SELECT term FROM term WHERE documents <= 0")] == []
    assert_agreement(store_url)


@pytest.mark.promise("forget.words-gone")
def test_a_damaged_record_keeps_nothing_from_being_forgotten(store_url: str, loom: Loom) -> None:
    place = loom.workspace("james", session="monday")
    sick, sails = ill(place), place.semantic.remember(["James"], "James sails every Sunday.", idempotency_key="s").id
    for table, column in (("event", "detail"), ("receipt", "answer")):
        # As a bit does that turns a space into a quotation mark.
        change(store_url, f"UPDATE {table} SET {column} = replace({column}, '{{', '{{\" ')")
    assert place.events()[0].detail == {"damaged": True}
    assert place.show(place.events()[0].id).detail["damaged"] is True
    with pytest.raises(Conflict, match="is damaged"):
        place.semantic.remember(["James"], "James sails every Sunday.", idempotency_key="s")
    agreed(place, sick)
    assert words_in_files(store_url, ["melanoma", "zweibruecken"]) == set()
    assert [hit.id for hit in place.search("who sails on Sunday?")][:1] == [sails]


@pytest.mark.promise("forget.preview")
def test_a_preview_shows_what_would_go_and_changes_nothing(place: Workspace, store_url: str) -> None:
    sick = ill(place)
    before = {row["id"] for row in rows_of(store_url, "SELECT id FROM item")}
    preview = place.forget([sick])
    assert (preview.is_done, preview.items[0].id, preview.items[0].kind) == (False, sick, "observation")
    assert preview.items[0].text == "James was treated for melanoma in Zweibruecken."
    assert {each.text: each.because for each in preview.items[1:]} == {
        "James": "a subject without anything else",
        "Hidden Clinic": "a subject without anything else",
    }
    assert preview.confirm == place.forget([sick]).confirm
    assert {row["id"] for row in rows_of(store_url, "SELECT id FROM item")} == before


@pytest.mark.promise("forget.preview")
def test_a_token_confirms_only_what_was_shown(place: Workspace) -> None:
    sick = ill(place)
    sails = place.semantic.remember(["James"], "James sails.").id
    token = place.forget([sick]).confirm
    for ids in ([sails], [sick, sails]):
        with pytest.raises(Conflict, match="not what was confirmed"):
            place.forget(ids, confirm=token)
    place.semantic.create_understanding(["James"], "James was ill.", "Ill", source_observation_ids=[sick])
    with pytest.raises(Conflict) as caught:
        place.forget([sick], confirm=token)
    fresh = caught.value.current
    assert place.show(sick).text
    assert place.forget([sick], confirm=fresh.confirm).is_done  # type: ignore[attr-defined]
    with pytest.raises(NotFound, match="was forgotten on 2026-11-15"):
        place.show(sick)


@pytest.mark.promise("forget.preview")
def test_what_changes_while_a_confirmation_waits_for_the_lock_is_noticed(
    place: Workspace, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = ill(place)
    token = place.forget([sick]).confirm
    made: list[int] = []

    def interrupted(unit: Unit, ids: Sequence[int], erasers: Sequence[Eraser]) -> ForgetPlan:
        plan = make_plan(unit, ids, erasers)
        if not made:
            with open_at(store_url) as other:
                semantic = other.workspace("james").semantic
                text = semantic.create_understanding(["James"], "James was ill.", "Ill", source_observation_ids=[sick])
                made.append(text.id)
        return plan

    with monkeypatch.context() as now:
        now.setattr("everloom.kernel.forgetting.erasing.make_plan", interrupted)
        with pytest.raises(Conflict, match="not what was confirmed"):
            place.forget([sick], confirm=token)
    assert place.show(sick).text
    assert place.show(made[0]).text == "James was ill."


@pytest.mark.promise("forget.derivations")
def test_an_understanding_goes_along_or_waits_for_a_new_synthesis(place: Workspace) -> None:
    semantic = place.semantic
    ill_id, sails = ill(place), semantic.remember(["James"], "James sails with a red boat.").id
    old = semantic.remember(["James"], "James sails.").id
    alone = semantic.create_understanding(["Hidden Clinic"], "A place.", "Clinic", source_observation_ids=[ill_id])
    repeats = semantic.create_understanding(
        ["James"], "James sails and had melanoma.", "James", source_observation_ids=[ill_id, sails, old]
    )
    preview = place.forget([ill_id])
    reasons = {each.id: each.because or "" for each in preview.items}
    assert "alone" in reasons[alone.id]
    assert "new synthesis is due" in reasons[repeats.id]
    agreed(place, ill_id)
    report = semantic.get_consolidation_report()
    assert "James" in {each.name for each in report.subjects_needing_understanding}
    again = semantic.create_understanding(["James"], "James sails.", "Sails", source_observation_ids=[sails, old])
    semantic.begin_consolidation()
    stays = place.forget([sails])
    assert [(each.id, each.change) for each in stays.spared] == [(again.id, "stays, and waits for a new synthesis")]
    agreed(place, sails)
    assert semantic.show(again.id).content == "James sails."  # type: ignore[union-attr]
    assert {each.subject_names for each in semantic.get_pending_consolidation()} == {("James",)}


@pytest.mark.promise("forget.derivations")
def test_versions_in_the_middle_of_a_history_go_by_themselves(place: Workspace, store_url: str) -> None:
    semantic = place.semantic
    sick, sails = ill(place), semantic.remember(["James"], "James sails.").id
    first = semantic.create_understanding(["James"], "James sails.", "One", source_observation_ids=[sails]).id
    second = semantic.update_understanding(first, "Melanoma.", "Two", source_observation_ids=[sick])
    third = semantic.update_understanding(second.new_understanding_id, "James sails a lot.", "Three")
    gone = agreed(place, sick)
    assert second.new_understanding_id in gone
    assert third.new_understanding_id not in gone
    assert [each.id for each in semantic.get_understanding_history(third.new_understanding_id)] == [
        third.new_understanding_id,
        first,
    ]
    assert_agreement(store_url)


@pytest.mark.promise("forget.derivations")
def test_a_clean_earlier_version_is_the_present_one_again_and_waits_for_a_new_synthesis(
    place: Workspace, store_url: str
) -> None:
    semantic = place.semantic
    sails = semantic.remember(["James"], "James sails every Sunday with Audrey.").id
    first = semantic.create_understanding(
        ["James"], "James sails every Sunday.", "Sails", source_observation_ids=[sails]
    ).id
    sick = ill(place)
    second = semantic.update_understanding(
        first, "James sails, and had a melanoma.", "Both", source_observation_ids=[sick]
    ).new_understanding_id
    semantic.begin_consolidation()
    preview = place.forget([sick])
    assert {each.id: each.because for each in preview.items if each.kind == "understanding"} == {
        second: f"repeats words of {sick}; a new synthesis is due"
    }
    assert [(each.id, each.change) for each in preview.spared] == [
        (first, "is the present version again, and waits for a new synthesis")
    ]
    agreed(place, sick)
    assert words_in_files(store_url, WORDS) == set()
    assert [each.id for each in semantic.get_understandings(["James"])] == [first]
    (james,) = semantic.get_subjects(["James"])
    assert james.single_subject_understanding is not None
    assert james.single_subject_understanding.id == first
    assert first in [hit.id for hit in place.search("who sails every Sunday?")]
    assert {each.subject_names for each in semantic.get_pending_consolidation()} == {("James",)}
    third = semantic.update_understanding(first, "James sails a lot.", "Sails", source_observation_ids=[sails])
    assert third.version == 2
    assert_agreement(store_url)


@pytest.mark.promise("forget.derivations")
def test_an_earlier_version_that_repeats_what_goes_goes_along_and_others_are_shown(
    place: Workspace, store_url: str
) -> None:
    semantic = place.semantic
    semantic.remember(["James", "Audrey"], "They met.")
    chain = [semantic.create_understanding(["James"], "James has a boat.", "Boat").id]
    for text in ("James was in a hidden clinic last year.", "James bakes.", "In a hidden clinic last year, he baked."):
        chain.append(semantic.update_understanding(chain[-1], text, text).new_understanding_id)
    preview = place.forget([chain[3]])
    assert {each.id: each.because for each in preview.items} == {
        chain[3]: None,
        chain[1]: "an earlier version that repeats it",
    }
    assert {each.id: each.change for each in preview.spared} == {
        chain[2]: "is the present version again, and waits for a new synthesis",
        chain[0]: "stays as an earlier version",
    }
    agreed(place, chain[3])
    assert [each.id for each in semantic.get_understanding_history(chain[2])] == [chain[2], chain[0]]
    assert words_in_files(store_url, ["hidden clinic"]) == set()
    # Of two that were replaced by the same one, the newer is the present one and the older its history.
    pair = semantic.create_understanding(["James", "Audrey"], "They like each other.", "Friends").id
    other = semantic.create_understanding(["Audrey"], "Audrey sings.", "Sings").id
    both = semantic.update_understanding(other, "Melanoma.", "M", subject_names=["Audrey", "James"])
    agreed(place, both.new_understanding_id)
    assert [each.id for each in semantic.get_understandings(["Audrey"])] == [other, pair]
    soul = semantic.create_understanding([], "I am calm.", "Soul", kind="soul").id
    worse = semantic.create_understanding([], "I am a melanoma.", "Soul", kind="soul").id
    agreed(place, worse)
    assert semantic.orient().soul.id == soul
    assert_agreement(store_url)


@pytest.mark.promise("forget.derivations")
def test_versions_of_merged_subjects_go_together_whichever_is_newer(place: Workspace, store_url: str) -> None:
    semantic = place.semantic
    semantic.remember(["James"], "James sails.")
    semantic.remember(["Jim"], "Jim bakes.")
    one = semantic.create_understanding(["James"], "James sails.", "Sails").id
    older = semantic.create_understanding(["Jim"], "Jim bakes bread.", "Bakes").id
    other = semantic.update_understanding(older, "Jim has a melanoma.", "Ill").new_understanding_id
    # The older text is kept, and supersedes the newer one.
    semantic.merge_subjects("James", "Jim")
    assert [each.id for each in semantic.get_understanding_history(one)] == [other, older, one]
    agreed(place, one, other)
    (james,) = semantic.get_subjects(["James"])
    assert james.single_subject_understanding is not None
    assert james.single_subject_understanding.id == older
    assert words_in_files(store_url, ["melanoma"]) == set()
    assert_agreement(store_url)


def test_an_earlier_version_does_not_take_the_place_of_one_in_force(place: Workspace, store_url: str) -> None:
    semantic = place.semantic
    semantic.remember(["James", "Audrey"], "They met.")
    first = semantic.create_understanding(["James"], "James has a boat.", "Boat").id
    moved = semantic.update_understanding(first, "Melanoma.", "M", subject_names=["Audrey"]).new_understanding_id
    present = semantic.create_understanding(["James"], "James bakes.", "Bakes").id
    shown = place.forget([moved])
    assert [(each.id, each.change) for each in shown.spared] == [(first, "stays as an earlier version")]
    agreed(place, moved)
    assert [each.id for each in semantic.get_understandings(["James"])] == [present]
    assert [each.id for each in semantic.get_understanding_history(present)] == [present, first]
    assert_agreement(store_url)


@pytest.mark.promise("forget.selection")
def test_things_are_chosen_by_search_subject_time_and_session(loom: Loom, clock: ManualClock) -> None:
    monday, tuesday = loom.workspace("james", session="monday"), loom.workspace("james", session="tuesday")
    sails = monday.semantic.remember(["James"], "James sails with Audrey.").id
    clock.advance(timedelta(days=1))
    cooks = tuesday.semantic.remember(["Audrey"], "Audrey cooks mussels in cider.").id
    bakes = tuesday.semantic.remember(["Malik"], "Malik bakes bread at night.").id

    def chosen(**how: object) -> list[int]:
        shown = tuesday.forget(**how)  # type: ignore[arg-type]
        return [each.id for each in shown.items if each.kind == "observation"]

    assert bakes in chosen(search="Malik bakes bread at night")
    assert chosen(subject_names=["Audrey"]) == [cooks]
    assert chosen(since=NOW + timedelta(hours=1)) == [cooks, bakes]
    assert chosen(until=NOW + timedelta(hours=1)) == [sails]
    assert chosen(from_session="tuesday") == [cooks, bakes]
    assert chosen(from_session="tuesday", subject_names=["Malik"]) == [bakes]
    assert chosen(ids=[loom.workspace("james").show(sails).sources[0]]) == [sails]
    with pytest.raises(NotFound, match="nothing matches"):
        tuesday.forget(from_session="monday", subject_names=["Malik"])
    with pytest.raises(NotFound):
        tuesday.forget(search="the capital of Mongolia")
    with pytest.raises(Rejected, match="nothing was chosen"):
        tuesday.forget()
    with pytest.raises(Rejected, match="ends before it begins"):
        tuesday.forget(since=NOW, until=NOW - timedelta(days=1))


def test_what_cannot_be_forgotten_by_itself_is_refused_with_a_reason(place: Workspace) -> None:
    sick = ill(place)
    event = place.events(limit=1)[0].id
    with pytest.raises(Rejected, match="a record of the kind event"):
        place.forget([event])
    with pytest.raises(NotFound, match="nothing in this workspace has the id"):
        place.forget([10**9])
    with pytest.raises(NotFound):
        place.loom.workspace("audrey").forget([sick])


@pytest.mark.promise("forget.words-gone")
def test_a_whole_subject_goes_with_everything_about_it(place: Workspace, store_url: str) -> None:
    ill(place)
    place.semantic.set_subject_summary("Hidden Clinic", "Where the melanoma was found.")
    place.semantic.add_alias("Hidden Clinic", "Zweibruecken hospital")
    sails = place.semantic.remember(["James"], "James sails.").id
    preview = place.forget(subject_names=["hidden clinic"])
    place.forget(subject_names=["hidden clinic"], confirm=preview.confirm)
    assert words_in_files(store_url, WORDS) == set()
    assert [each.name for each in place.semantic.get_subjects(["James"])] == ["James"]
    assert [each.id for each in place.semantic.list_observations(["James"])] == [sails]


@pytest.mark.promise("forget.words-gone")
def test_an_imported_text_leaves_the_context_of_its_neighbours(place: Workspace, store_url: str) -> None:
    said = "The melanoma was found in Zweibruecken."
    first, second = place.add([note(said), note("And then we went sailing.", context=said)])
    agreed(place, first)
    assert words_in_files(store_url, WORDS) == set()
    assert place.show(second).text == "And then we went sailing."
    assert_agreement(store_url)


@pytest.mark.promise("forget.preview")
def test_what_says_the_same_elsewhere_is_shown_and_stays(place: Workspace) -> None:
    sick = ill(place)
    (copy,) = place.add([note("My diary: James was treated for melanoma in Zweibruecken. It rained.")])
    assert [each.id for each in place.forget([sick]).mentions] == [copy]
    agreed(place, sick)
    assert place.show(copy).text.startswith("My diary")


@pytest.mark.promise("forget.everywhere")
def test_another_process_that_holds_the_vector_lets_go_of_it(store_url: str, loom: Loom) -> None:
    place = loom.workspace("james")
    sick = ill(place)
    with open_at(store_url) as other:
        elsewhere = other.workspace("james")
        assert elsewhere.search("melanoma treatment", within=Scope(kinds=frozenset({"observation"})))[0].id == sick
        agreed(place, sick)
        assert list(elsewhere.search("melanoma treatment", within=Scope(kinds=frozenset({"observation"})))) == []
        if is_sqlite(store_url):
            for shelf in vars(vars(other.store)["_vectors"])["_shelves"].values():
                assert sick not in vars(shelf)["_ids"].tolist()


@pytest.mark.promise("forget.tombstones")
def test_a_repeated_call_with_the_key_of_what_was_forgotten_brings_nothing_back(place: Workspace) -> None:
    agreed(place, ill(place))
    with pytest.raises(Conflict, match="was forgotten"):
        ill(place)


@pytest.mark.promise("forget.tombstones")
def test_what_was_forgotten_comes_back_only_if_somebody_lifts_its_tombstone(place: Workspace, store_url: str) -> None:
    told = "James was treated for  melanoma in Zweibruecken.\n"
    sick = ill(place)
    agreed(place, sick)
    with pytest.raises(Conflict, match="forgotten on 2026-11-15") as caught:
        place.semantic.remember(["James"], told)
    assert f"everloom forget --lift {sick}" in (caught.value.hint or "")
    with pytest.raises(Conflict):
        place.semantic.add_observations([NewObservation(subject_names=["James"], content=told)])
    assert learn(place.op, [Lesson(observation=NewObservation(subject_names=["James"], content=told))], []) == (
        Learnt(added=None, superseded=None),
    )
    imported = "James was treated for melanoma in Zweibruecken."
    assert len(place.add([note(imported), note("Something else.")])) == 1
    assert words_in_files(store_url, WORDS) == set()
    listed = place.forgetting.list_forgotten()
    assert (listed.count, {each.kind for each in listed.tombstones}) == (3, {"observation", "subject"})
    assert {each.session for each in listed.tombstones} == {"monday"}
    digests = rows_of(store_url, "SELECT digest FROM tombstone_digest")
    assert content_hash(told) not in {row["digest"] for row in digests}
    place.forgetting.lift_tombstones([sick])
    assert place.semantic.remember(["James"], told).duplicate is False
    with pytest.raises(NotFound, match="was forgotten"):
        place.forgetting.lift_tombstones([10**9])


@pytest.mark.one_node("overwriting what was forgotten is left to whoever runs it")
def test_a_forgetting_that_was_not_cleaned_is_cleaned_by_the_next_sleep(
    place: Workspace, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everloom.kernel.forgetting.cleaning._AT_ONCE_BYTES", 1)
    preview = place.forget([ill(place)])
    done = place.forget([each.id for each in preview.items if not each.because], confirm=preview.confirm)
    assert done.cleaned == ()
    assert any("everloom sleep" in each for each in done.remains)
    assert not place.forgetting.list_forgotten().tombstones[0].is_clean
    assert words_in_files(store_url, WORDS) != set()
    place.sleep()
    assert words_in_files(store_url, WORDS) == set()
    assert place.forgetting.list_forgotten().tombstones[0].is_clean


def test_a_token_depends_on_every_part_of_a_plan() -> None:
    one = Doomed(id=1, kind="note", text="a")
    plans = [
        ForgetPlan({1: one}),
        ForgetPlan({1: Doomed(id=1, kind="note", text="b")}),
        ForgetPlan({1: Doomed(id=1, kind="note", text="a", state="2")}),
        ForgetPlan({1: one}, {1: "because"}),
        ForgetPlan({1: one, 2: Doomed(id=2, kind="note", text="a")}),
    ]
    assert len({each.token for each in plans}) == len(plans)


def test_traces_are_words_that_are_nowhere_else_or_stand_in_a_row() -> None:
    traces = Traces(["James was treated for melanoma.", "Two words"], frozenset({"melanoma"}), ["a-uuid"])
    assert traces.in_text("He had melanomas") is traces.in_text("Melanoma!")
    assert traces.in_text("james WAS treated for something")
    assert traces.in_text("file a-uuid.md")
    assert not traces.in_text("James was treated well.")
    assert traces.in_data({"x": [{"melanoma": 1}]})
    assert not traces.in_data([1, None, True, "James"])
    assert only_in(["sail boat"], ["boat"]) == only_in(["sail"], [])
    assert blanked({"a": ["x", 1], "b": {"c": "y"}}) == {"a": ["", 1], "b": {"c": ""}}
    assert numbers_in({"id": 1, "count": 2, "ids": [3], "x": {"item_id": 4}}, named_as_id=True) == {1, 3, 4}
    assert numbers_in({"id": 1, "count": 2, "is": True}) == {1, 2}


def test_a_document_of_no_faculty_is_forgotten_like_any_other(place: Workspace) -> None:
    (item,) = place.add([Document(kind="page", title="Zweibruecken", text="A town.", happened_at=NOW)])
    assert agreed(place, item) == [item]
    assert list(place.search("Zweibruecken town")) == []


# Tables whose rows refer to items: an eraser deletes or changes them, or a forgotten item could not go.
REFERRING = frozenset(
    (
        "access cluster compaction cover document edge embedding entry event exchange graph graph_file heartbeat held "
        "import_source intention memory message mind_note note observation patrol perspective program_record "
        "scene scheduled seen session signal source subject understanding usage"
    ).split()
)
# Tables that hold texts, vectors or other bytes: an eraser takes the words out of them, or they never hold any.
TELLING = frozenset(
    (
        "action array_entry attachment being cluster compaction contact deed document due edge embedding entry "
        "event exchange graph graph_file graph_intent hand_server hand_tool heartbeat held import_item "
        "import_part import_source intention item job lease memory memory_name message mind_note "
        "mind_note_version note observation patrol patrol_step perspective plain_note posting program_record "
        "reading receipt relation scene scene_change scene_life scheduled session session_snapshot signal "
        "subject subject_name subject_tag system_prompt term text_link tombstone tombstone_digest "
        "tombstone_secret understanding usage"
    ).split()
)


@pytest.mark.promise("forget.words-gone")
def test_what_a_job_said_about_it_is_forgotten_too(place: Workspace, store_url: str) -> None:
    def fail(run: JobRun) -> None:
        run.report = {"about": "melanoma of James"}
        raise Rejected("cannot embed 'James was treated for melanoma.'")

    job = place.loom.running.start(place.op, JobPlan("trying", 1, fail)).id
    wait_until(lambda: place.loom.running.status(place.info.id, job).is_over, "the job to end")
    preview = place.forget([ill(place)])
    place.forget([each.id for each in preview.items if not each.because], confirm=preview.confirm)
    status = place.loom.running.status(place.info.id, job)
    assert (status.error, status.report) == ("forgotten", {"about": ""})
    assert words_in_files(store_url, ["melanoma"]) == set()


@pytest.mark.promise("forget.words-gone")
def test_every_table_that_could_keep_something_is_known_to_forgetting() -> None:
    schema = Path(str(resources.files("everloom.store"))).joinpath("schema.sql").read_text()
    tables = re.findall(r"(?ms)^CREATE TABLE (\w+) \((.*?)^\)", schema)
    referring = {name for name, body in tables if re.search(r"REFERENCES (item|document) ", body)}
    advice = "let an eraser care for it (kernel/forgetting), then name it here"
    assert referring == REFERRING, advice
    assert set(text_tables()) == TELLING, advice


def test_a_store_that_cannot_be_cleaned_now_has_forgotten_all_the_same(
    place: Workspace, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = ill(place)
    preview = place.forget([sick])

    def full(*_: object, **__: object) -> NoReturn:
        raise StoreError("the disk is full")

    with monkeypatch.context() as now:
        now.setattr(type(place.loom.store), "scrub", full)
        done = place.forget([sick], confirm=preview.confirm)
    assert (done.is_done, done.cleaned) == (True, ())
    assert "the disk is full" in done.remains[0]
    assert rows_of(store_url, "SELECT * FROM observation") == []
    place.sleep()
    assert words_in_files(store_url, WORDS) == set()


def test_another_process_that_reads_on_delays_the_cleaning_and_not_the_forgetting(
    place: Workspace, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = ill(place)
    with open_at(store_url) as other, other.store.read(place.info.id) as unit:
        assert unit.all("words.document_of", ids=[sick])
        preview = place.forget([sick])
        # Only here: afterwards, others of the same server may have to be waited for.
        with monkeypatch.context() as now:
            now.setattr("everloom.store.sqlite.scrubbing._PATIENCE_MILLISECONDS", 10)
            now.setattr("everloom.store.postgresql.scrubbing._LOCK_SECONDS", 1)
            now.setattr("everloom.store.postgresql.scrubbing._OLDER_SECONDS", 0.1)
            done = place.forget([sick], confirm=preview.confirm)
        assert done.is_done
        assert not place.forgetting.list_forgotten().tombstones[0].is_clean
        assert unit.all("words.document_of", ids=[sick]), "its snapshot is from before"
    place.sleep()
    assert words_in_files(store_url, WORDS) == set()


@pytest.mark.promise("forget.words-gone")
@pytest.mark.parametrize("begin", ["SELECT pg_current_xact_id()", "SELECT 1"], ids=["writer", "reader"])
def test_an_older_transaction_on_the_server_is_waited_for_and_otherwise_told(
    postgres_server: PostgresServer, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, begin: str
) -> None:
    with postgres_server.database() as url, postgres_server.database() as elsewhere, open_at(url, clock) as loom:
        place = loom.workspace("james", session="monday")
        first, second = ill(place), place.semantic.remember(["James"], "A melanoma again.").id
        place.semantic.remember(["James"], "James sails every Sunday.")
        # A writer counts in any database of the server, a reader in this one.
        with psycopg.connect(url if begin == "SELECT 1" else elsewhere) as older:
            older.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            older.execute(begin.encode())
            monkeypatch.setattr("everloom.store.postgresql.scrubbing._OLDER_SECONDS", 0.1)
            done = place.forget([first], confirm=place.forget([first]).confirm)
            assert "might still see" in done.remains[0]
            assert not place.forgetting.list_forgotten().tombstones[0].is_clean
            assert "zweibruecken" in words_in_files(url, WORDS)
            monkeypatch.setattr("everloom.store.postgresql.scrubbing._OLDER_SECONDS", PATIENCE)
            preview = place.forget([second])
            ending = Timer(1.0, older.commit)
            ending.start()
            done = place.forget([second], confirm=preview.confirm)
            ending.join()
        assert done.cleaned == ("tables", "statistics")
        assert words_in_files(url, WORDS) == set()


@pytest.mark.promise("forget.words-gone")
def test_the_planner_s_samples_of_a_table_that_becomes_empty_go_too(
    postgres_server: PostgresServer, clock: ManualClock
) -> None:
    with postgres_server.database() as url, open_at(url, clock) as loom:
        place = loom.workspace("james", session="monday")
        told = ("A melanoma.", "Melanoma in Zweibruecken.", "Zweibruecken again, and a melanoma.")
        ids = [place.semantic.remember(["James"], text).id for text in told]
        with psycopg.connect(as_superuser(url), autocommit=True) as owner:
            owner.execute("VACUUM ANALYZE")
            sampled = "SELECT count(*) FROM pg_stats WHERE histogram_bounds::text ILIKE '%melanoma%'"
            assert owner.execute(sampled).fetchall() != [(0,)]
            before = structure(url)
            agreed(place, *ids)
            assert owner.execute(sampled).fetchall() == [(0,)]
        assert structure(url) == before
        assert words_in_files(url, WORDS) == set()
        sails = place.semantic.remember(["James"], "James sails.").id
        assert [hit.id for hit in place.search("who sails?")] == [sails]


@pytest.mark.promise("forget.words-gone")
def test_writes_that_wait_for_review_or_waited_lose_the_words_too(store_url: str) -> None:
    settings = Settings.model_validate({"workspace": {"time_zone": "UTC"}, "review": {"hold": ["web"]}})
    with open_loom(store_url, settings=settings, clock=ManualClock(NOW)) as loom:
        web, person = loom.workspace("james", origin="web:example.org"), loom.workspace("james", origin="person")
        told = "James was treated for melanoma in Zweibruecken."
        (approved,) = person.review.approve([web.semantic.remember(["James"], told).id])
        waiting = web.semantic.remember(["James"], "Melanoma, says a page.").id
        person.semantic.remember(["James"], "James has a boat.")
        other = web.semantic.remember(["James"], "James sails.").id
        assert [each.id for each in person.review.list_held().held] == [waiting, other]
        item = min(row["id"] for row in rows_of(store_url, "SELECT id FROM observation"))
        agreed(person, item)
        assert words_in_files(store_url, WORDS[:2]) == set()
        assert [each.id for each in person.review.list_held().held] == [other]
        agreed(person, other)
        assert person.review.list_held().held == ()
        assert loom.store.health(deep=True).problems == ()
        assert approved is not None


@pytest.mark.promise("forget.every-kind")
def test_the_label_of_a_session_is_forgotten_with_what_was_written_in_it(loom: Loom, store_url: str) -> None:
    place = loom.workspace("james", session="Melanoma consultation")
    sails = place.semantic.remember(["James"], "James sails every Sunday.").id
    place.semantic.describe_session("Health", "The Zweibruecken talk.")
    session = loom.workspace("james").show(sails).sources[0]
    assert {each.id for each in place.forget(from_session="Melanoma consultation").items} >= {session, sails}
    # Narrowed to what it says, the session keeps its label.
    narrowed = place.forget(from_session="Melanoma consultation", search="James sails every Sunday")
    assert session not in {each.id for each in narrowed.items}
    assert session in agreed(place, session)
    assert words_in_files(store_url, ["melanoma", "consultation", "zweibruecken", "sunday"]) == set()
    # What is recorded of the session stays, under another label.
    assert [each.session_id for each in loom.workspace("james").semantic.sessions()] == [f"session {session}"]
    with pytest.raises(NotFound, match="nothing matches"):
        loom.workspace("james").forget([session])


@pytest.mark.promise("forget.every-kind")
def test_a_perspective_is_forgotten_with_its_instruction(place: Workspace, store_url: str) -> None:
    sails = place.semantic.remember(["James"], "James sails every Sunday.").id
    added = place.add_perspective("oncology", "Represent for retrieval about melanoma:", idempotency_key="angle")
    assert (added.id, "oncology") in {(each.id, each.name) for each in place.semantic.list_perspectives()}
    place.loom.embed_waiting(place.info, 10)
    assert words_in_files(store_url, ["oncology", "melanoma"]) != set()
    assert agreed(place, added.id) == [added.id]
    assert words_in_files(store_url, ["oncology", "melanoma"]) == set()
    assert "oncology" not in {each.name for each in place.perspectives()}
    assert [hit.id for hit in place.search("who sails on Sunday?")] == [sails]
    again = place.add_perspective("oncology", "Another one:")
    place.loom.embed_waiting(place.info, 10)
    assert again.id != added.id
    with pytest.raises(Rejected, match="cannot be forgotten by itself"):
        place.forget([next(each.id for each in place.perspectives() if each.name == "general")])
    assert_agreement(store_url)
