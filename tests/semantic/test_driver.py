"""A model consolidates: in order, once, resumably, within bounds, and never more than the evidence allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from everloom.clock import ManualClock, from_micros
from everloom.errors import MalformedReply, ProviderBusy, ProviderError, ProviderRefused
from everloom.kernel.work import lease
from everloom.loom import Loom, Workspace
from everloom.models.ask import Question
from everloom.semantic import NewObservation, Semantic
from everloom.semantic.consolidation.results import ConsolidationReport
from everloom.semantic.results import Understanding
from tests.patience import wait_until
from tests.semantic.thinking import MARRIED, STEPS, Sage, dies, fill, of, part, run


@pytest.fixture
def place(loom: Loom) -> Workspace:
    """A workspace with a small world in it."""
    workspace = loom.workspace("james")
    fill(workspace)
    return workspace


SUBJECTS = ("James", "Audrey", "sailing", "compiler")
PAIRS = (("James", "sailing"), ("James", "Audrey"), ("Audrey", "compiler"))


def waiting(report: ConsolidationReport) -> list[str]:
    """Name the subjects that wait."""
    stale = [name for each in report.stale_understandings for name in each.subject_names]
    return [each.name for each in report.subjects_needing_understanding] + stale


def own(mind: Semantic, *names: str) -> Understanding:
    """Find the one understanding of exactly these subjects."""
    (found,) = [each for each in mind.get_understandings(names) if len(each.subject_names) == len(names)]
    return found


def operations(workspace: Workspace) -> Counter[str]:
    """Count what was done in a workspace."""
    return Counter(event.operation for event in workspace.events(limit=1000))


@pytest.mark.promise("consolidate.order")
def test_a_pass_takes_sessions_then_subjects_then_pairs_and_the_orientation_last(place: Workspace) -> None:
    sage = Sage()
    outcome, passed = run(place, sage)
    assert outcome.state == "done"
    assert passed is not None
    assert passed.finished
    assert [each.kind for each in passed.taken] == ["session"] * 2 + ["subject"] * 4 + ["intersection"] * 3 + [
        "orientation"
    ]
    assert sage.titles()[:2] == ["monday", "tuesday"]
    assert sage.titles()[2] == "James"
    assert passed.counts == {"written": STEPS}
    assert passed.left == 0
    mind = place.semantic
    assert own(mind, "James").content == "James: 3 observations were read."
    assert own(mind, "James", "Audrey").kind == "relationship"
    assert mind.what_happened("monday").session.summary == "About monday."
    oriented = mind.orient()
    assert oriented.pending_consolidation_count == 0
    assert oriented.orientation.summary == "About orientation."
    assert mind.get_stats().current_generation == 1
    assert not mind.get_stats().consolidation_open


def test_what_a_model_wrote_rests_on_what_it_cited_and_carries_its_tier(place: Workspace) -> None:
    run(place, Sage())
    found = own(place.semantic, "Audrey", "compiler")
    (evidence,) = place.semantic.list_observations(["Audrey", "compiler"])
    assert found.source_observation_ids == (evidence.id,)
    assert found.model_tier == "large"
    assert found.session_id is None
    assert found.reason == "It is new."


def test_a_pair_is_judged_beside_what_was_just_understood_of_each_side(place: Workspace) -> None:
    sage = Sage()
    run(place, sage)
    question = sage.asked[sage.titles().index("James × Audrey")]
    views = [each.text for each in question.passages if each.label == "understanding"]
    assert views == ["James: James: 3 observations were read.", "Audrey: Audrey: 2 observations were read."]


@pytest.mark.promise("consolidate.nothing-twice")
@pytest.mark.parametrize("where", ["question", "write", "step"])
def test_a_run_that_is_killed_anywhere_goes_on_and_writes_everything_once(
    loom: Loom, clock: ManualClock, where: str
) -> None:
    for when in range(40):
        workspace = loom.workspace(f"killed at {where} {when}", session="monday")
        workspace.semantic.add_observations([MARRIED])
        died = dies(workspace, Sage(), where, when, clock)
        outcome, passed = run(workspace, Sage())
        assert outcome.state == "done"
        assert passed is not None
        assert_written_once(workspace, [("James",), ("Audrey",), ("James", "Audrey")], sessions=1)
        if not died:
            break
    # A session, two subjects, a pair and the orientation; beginning and finishing are writes, too.
    assert when == {"question": 5, "write": 7, "step": 5}[where]


def assert_everything_was_written_once(workspace: Workspace) -> None:
    """See that the small world is as one undisturbed pass leaves it."""
    assert_written_once(workspace, [*((name,) for name in SUBJECTS), *PAIRS], sessions=2)


def assert_written_once(workspace: Workspace, regions: Sequence[tuple[str, ...]], sessions: int) -> None:
    """See that everything has one understanding with no history, and that one generation passed."""
    mind = workspace.semantic
    written = [own(mind, *names) for names in regions]
    assert {each.version for each in written} == {1}
    assert all(len(mind.get_understanding_history(each.id)) == 1 for each in written)
    done = operations(workspace)
    assert done["create_understanding"] + done["update_understanding"] == len(regions) + 1
    assert done["describe_session"] == sessions
    assert done["begin_consolidation"] == done["finish_consolidation"] == 1
    stats = mind.get_stats()
    assert (stats.current_generation, stats.consolidation_open) == (1, False)
    assert mind.get_consolidation_report().pending_count == 0


def test_a_subject_that_was_found_unchanged_before_the_kill_is_not_asked_about_again(
    place: Workspace, clock: ManualClock
) -> None:
    run(place, Sage())
    place.semantic.remember(["James"], "James still sails.")
    place.semantic.remember(["Audrey"], "Audrey still writes.")
    first = Sage(says=lambda _: verdict("unchanged"))
    assert dies(place, first, "question", 1, clock)
    again = Sage(says=lambda _: verdict("unchanged"))
    run(place, again)
    assert sorted(first.titles()[:1] + again.titles()) == ["Audrey", "James"]


def verdict(decision: str, **more: Any) -> dict[str, Any]:
    """Make an answer that writes nothing."""
    return {"decision": decision, "content": "", "summary": "", "cited_observation_ids": [], "reason": "So.", **more}


@pytest.mark.promise("consolidate.unchanged-stops-waiting")
def test_unchanged_and_trivial_stop_waiting_and_write_nothing(place: Workspace) -> None:
    _, passed = run(place, Sage(says=lambda question: None if is_session(question) else verdict("trivial")))
    assert passed is not None
    assert passed.counts == {"written": 2, "trivial": 7}
    assert place.semantic.get_consolidation_report().pending_count == 0
    assert place.semantic.get_stats().understanding_count == 2
    place.semantic.remember(["compiler"], "The compiler has a parser.")
    sage = Sage()
    run(place, sage)
    assert sage.titles() == ["compiler", "orientation"]
    # What was too slight alone is read again beside what came.
    assert own(place.semantic, "compiler").content == "compiler: 2 observations were read."


def is_session(question: Question) -> bool:
    """Say whether a question is about a session."""
    return "one session" in question.task


@pytest.mark.promise("consolidate.one-at-a-time")
def test_a_second_run_at_the_same_time_is_busy(place: Workspace) -> None:
    seen: list[str] = []

    def meanwhile(_: Question) -> None:
        if not seen:
            seen.append(run(place, Sage())[0].state)

    outcome, _ = run(place, Sage(meanwhile=meanwhile))
    assert (outcome.state, seen) == ("done", ["busy"])
    assert_everything_was_written_once(place)


def test_a_run_whose_lease_was_taken_over_writes_no_more(place: Workspace, clock: ManualClock) -> None:
    def meanwhile(question: Question) -> None:
        if part(question, "name") == "James":
            clock.advance(timedelta(minutes=5))
            assert run(place, Sage())[0].state == "done"

    outcome, _ = run(place, Sage(meanwhile=meanwhile))
    assert outcome.state == "failed"
    assert "lease" in str(outcome.error)
    assert_everything_was_written_once(place)


def test_a_model_that_thinks_longer_than_a_lease_lasts_keeps_it(
    place: Workspace, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Impatient(Event):
        def wait(self, timeout: float | None = None) -> bool:
            return super().wait(None if timeout is None else 0.01)

    monkeypatch.setattr(lease, "Event", Impatient)
    seen: list[str] = []

    def meanwhile(question: Question) -> None:
        if part(question, "name") == "James":
            for _ in range(4):
                clock.advance(timedelta(minutes=1))
                wait_until(lambda: lease_left(place, clock) > lease.LEASE / 2, "the lease to be extended")
            seen.append(run(place, Sage())[0].state)

    outcome, _ = run(place, Sage(meanwhile=meanwhile))
    assert (outcome.state, seen) == ("done", ["busy"])
    assert_everything_was_written_once(place)


def lease_left(place: Workspace, clock: ManualClock) -> timedelta:
    """Say how long the lease will be held."""
    with place.loom.store.read(place.info.id) as unit:
        row = unit.one("kernel.lease_get", task="consolidate")
    assert row is not None
    return from_micros(row["held_until"]) - clock.now()


def test_a_text_that_a_model_only_repeats_is_not_written_again(place: Workspace) -> None:
    run(place, Sage())
    known = own(place.semantic, "James")
    place.semantic.remember(["James"], "James still sails.")
    same = {"content": known.content, "summary": known.summary}
    _, passed = run(place, Sage(says=lambda _: verdict("write", **same)))
    assert passed is not None
    assert passed.counts == {"unchanged": 1}
    assert own(place.semantic, "James").id == known.id


@pytest.mark.promise("consolidate.nothing-missed")
def test_what_is_observed_during_the_pass_still_waits_afterwards(loom: Loom, place: Workspace) -> None:
    other = loom.workspace("james", session="wednesday").semantic

    def meanwhile(question: Question) -> None:
        if part(question, "name") == "James":
            other.remember(["James"], "James sold his boat.")

    run(place, Sage(meanwhile=meanwhile))
    report = place.semantic.get_consolidation_report()
    assert waiting(report) == ["James"]
    assert [each.session_id for each in report.sessions_needing_description] == ["wednesday"]
    sage = Sage()
    run(place, sage)
    assert sage.titles() == ["wednesday", "James", "orientation"]
    assert "James sold his boat." in part(sage.asked[1], "observations")
    assert "James sails" not in part(sage.asked[1], "observations")
    assert part(sage.asked[1], "existing").endswith("James: 3 observations were read.")
    assert own(place.semantic, "James").version == 2


def test_a_session_that_goes_on_while_its_note_is_written_keeps_waiting(loom: Loom, place: Workspace) -> None:
    monday = loom.workspace("james", session="monday").semantic

    def meanwhile(question: Question) -> None:
        if part(question, "name") == "monday":
            monday.remember(["sailing"], "The sails are red.")

    _, passed = run(place, Sage(meanwhile=meanwhile))
    assert passed is not None
    assert passed.taken[0].outcome == "skipped"
    report = place.semantic.get_consolidation_report()
    assert [each.session_id for each in report.sessions_needing_description] == ["monday"]


def test_an_understanding_that_somebody_else_wrote_meanwhile_is_not_overwritten(loom: Loom, place: Workspace) -> None:
    agent = loom.workspace("james", session="agent").semantic

    def meanwhile(question: Question) -> None:
        if part(question, "name") == "James":
            agent.create_understanding(["James"], "Written by the agent.", "By the agent.", seen_through_id=1)

    _, passed = run(place, Sage(meanwhile=meanwhile))
    assert passed is not None
    assert [each.outcome for each in passed.taken if each.names == ("James",)] == ["skipped"]
    assert own(place.semantic, "James").content == "Written by the agent."
    assert waiting(place.semantic.get_consolidation_report()) == ["James"]


@pytest.mark.promise("consolidate.no-invented-ids")
def test_ids_that_the_model_made_up_are_dropped_and_reported(loom: Loom, place: Workspace) -> None:
    (foreign,) = [loom.workspace("elsewhere").semantic.remember(["x"], "Not yours.").id]
    ids = [each.id for each in place.semantic.list_observations(["James"])]

    def says(question: Question) -> dict[str, Any] | None:
        cited = [ids[0], foreign, 10**12, -1]
        wanted = part(question, "name") == "James"
        return {**Sage().usual(question), "cited_observation_ids": cited} if wanted else None

    _, passed = run(place, Sage(says=says))
    assert passed is not None
    (james,) = [each for each in passed.taken if each.names == ("James",)]
    assert (james.outcome, set(james.dropped_ids)) == ("written", {foreign, 10**12, -1})
    assert own(place.semantic, "James").source_observation_ids == (ids[0],)


@pytest.mark.promise("semantic.uncited-stays")
def test_what_a_model_neither_cites_nor_dismisses_stays_in_the_report(loom: Loom, place: Workspace) -> None:
    place.semantic.add_observations(
        [NewObservation(subject_names=("James",), content=f"James's fact {n}.") for n in range(3)]
    )
    ids = [each.id for each in place.semantic.list_observations(["James"])]
    cited, dismissed, left = ids[-3:]

    def says(question: Question) -> dict[str, Any] | None:
        given = {"cited_observation_ids": [cited], "dismissed_observation_ids": [dismissed, 10**12]}
        return {**Sage().usual(question), **given} if part(question, "name") == "James" else None

    run(place, Sage(says=says))
    unlinked = {each.id for each in place.semantic.get_consolidation_report().unlinked_observations}
    assert unlinked.intersection(ids[-3:]) == {left}


@pytest.mark.promise("consolidate.one-failure-stops-nothing")
@pytest.mark.parametrize("error", [MalformedReply("no shape"), ProviderRefused("not this"), ProviderError("too long")])
def test_a_model_that_fails_on_one_subject_does_not_stop_the_others(place: Workspace, error: ProviderError) -> None:
    def meanwhile(question: Question) -> None:
        if part(question, "name") == "James":
            raise error

    outcome, passed = run(place, Sage(meanwhile=meanwhile))
    assert outcome.state == "done"
    assert passed is not None
    assert passed.counts == {"written": STEPS - 1, "failed": 1}
    assert [each.reason for each in passed.taken if each.outcome == "failed"] == [error.message]
    assert waiting(place.semantic.get_consolidation_report()) == ["James"]
    assert passed.finished


def test_a_model_that_fails_at_everything_is_asked_no_more(place: Workspace) -> None:
    def meanwhile(_: Question) -> None:
        raise MalformedReply("no shape")

    sage = Sage(meanwhile=meanwhile)
    outcome, passed = run(place, sage)
    assert (outcome.state, len(sage.asked)) == ("failed", 5)
    assert passed is not None
    assert not passed.finished


@pytest.mark.promise("consolidate.model-down")
def test_a_model_that_is_down_stops_the_run_at_once_and_nothing_is_lost(place: Workspace, clock: ManualClock) -> None:
    def meanwhile(question: Question) -> None:
        if part(question, "name") == "Audrey":
            raise ProviderBusy("nobody answers at the other end")

    outcome, passed = run(place, Sage(meanwhile=meanwhile))
    assert outcome.state == "failed"
    assert "nobody answers" in str(outcome.error)
    assert passed is not None
    assert not passed.finished
    assert passed.stopped == "the model did not answer: nobody answers at the other end"
    written = [each.names for each in passed.taken]
    assert ("James",) in written
    assert run(place, Sage())[0].state == "resting"
    place.loom.work.retry_now(place.info, "consolidate")
    again = Sage()
    _, resumed = run(place, again)
    assert resumed is not None
    assert resumed.resumed
    assert "James" not in again.titles()
    assert_everything_was_written_once(place)


@pytest.mark.promise("consolidate.budget")
@pytest.mark.parametrize("kind", ["tokens", "money", "wish"])
def test_a_spent_budget_stops_the_run_cleanly_and_the_rest_stays_due(place: Workspace, kind: str) -> None:
    sage = Sage()

    def meanwhile(_: Question) -> None:
        if kind == "money" and len(sage.asked) == 4:
            sage.refuses = ProviderRefused("the budget for language models is spent")

    sage.meanwhile = meanwhile
    bounds: dict[str, dict[str, Any]] = {"tokens": {"tokens": 400}, "wish": {"stop": lambda: len(sage.asked) == 4}}
    outcome, passed = run(place, sage, **bounds.get(kind, {}))
    assert outcome.state == "done"
    assert passed is not None
    assert (len(sage.asked), passed.finished) == (4, False)
    assert passed.stopped
    assert passed.left == 5
    again = Sage()
    run(place, again)
    assert len(again.asked) == STEPS - 4
    assert_everything_was_written_once(place)


def test_a_budget_that_is_spent_before_it_begins_begins_nothing(place: Workspace) -> None:
    _, passed = run(place, Sage(refuses=ProviderRefused("spent")))
    assert passed is not None
    assert passed.stopped == "spent"
    assert place.semantic.get_stats().current_generation == 0


def test_a_limit_takes_the_first_steps_reviews_the_orientation_and_finishes(place: Workspace) -> None:
    sage = Sage()
    _, passed = run(place, sage, steps=3)
    assert passed is not None
    assert sage.titles() == ["monday", "tuesday", "James", "orientation"]
    assert passed.finished
    assert passed.left == 6
    _, rest = run(place, Sage())
    assert rest is not None
    assert (rest.generation, rest.left) == (2, 0)


def test_nothing_waits_after_a_pass_and_another_asks_nothing(place: Workspace) -> None:
    run(place, Sage())
    before = operations(place)
    sage = Sage()
    _, passed = run(place, sage)
    assert passed is not None
    assert (sage.asked, passed.taken, passed.generation) == ([], (), 1)
    assert operations(place) == before


@pytest.mark.promise("consolidate.soul-is-left-alone")
def test_the_soul_and_the_protocol_are_never_written_and_drift_is_told(place: Workspace) -> None:
    mind = place.semantic
    before = mind.orient()
    rules = "\n".join(f"- Always check rule {number}." for number in range(12))
    mind.update_understanding(before.soul.id, rules, "Rules.")
    _, passed = run(place, Sage())
    assert passed is not None
    assert "rules" in {hint.sign for hint in passed.soul_hints}
    after = mind.orient()
    assert after.soul.content == rules
    assert after.protocol == before.protocol
    assert after.orientation.version == before.orientation.version + 1


def test_much_evidence_is_read_page_by_page_and_written_once(loom: Loom) -> None:
    workspace = loom.workspace("long")
    texts = [f"Entry {number}: " + " ".join(f"word{number}x{each}" for each in range(120)) for number in range(60)]
    workspace.semantic.add_observations([of(text, "log") for text in texts])
    sage = Sage()
    run(workspace, sage)
    pages = [part(each, "observations") for each in sage.asked if part(each, "name") == "log"]
    assert len(pages) > 2
    assert all(sum(text in page for page in pages) == 1 for text in texts)
    found = own(workspace.semantic, "log")
    assert found.version == 1
    assert len(found.source_observation_ids) == 60


def test_a_budget_that_is_spent_between_two_pages_lets_the_step_be_completed(loom: Loom) -> None:
    workspace = loom.workspace("long")
    words = " ".join(f"word{each}" for each in range(300))
    workspace.semantic.add_observations([of(f"Entry {number}: {words}", "log") for number in range(20)])
    _, passed = run(workspace, Sage(), tokens=1)
    assert passed is not None
    assert [each.outcome for each in passed.taken] == ["written"]


def test_doubts_and_linked_evidence_are_shown_when_an_understanding_is_revised(place: Workspace) -> None:
    run(place, Sage())
    mind = place.semantic
    mind.mark_questionable(own(mind, "James").id, "He moved inland.")
    linked = mind.remember(["James"], "James lives in Bern.", related_to=[own(mind, "James").id])
    sage = Sage()
    run(place, sage)
    assert "He moved inland." in part(sage.asked[0], "doubts")
    assert f"[{linked.id}]" in part(sage.asked[0], "linked")


@pytest.mark.promise("consolidate.linear")
def test_a_pass_costs_what_changed_not_what_there_is(loom: Loom, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for size in (30, 300):
        workspace = loom.workspace(f"of {size}")
        mind = workspace.semantic
        mind.add_observations([of(f"The subject {number} is there.", f"subject {number}") for number in range(size)])
        names = [f"subject {number}" for number in range(size)]
        begun = mind.begin_consolidation()
        mind.finish_consolidation(begun.generation, "All is known.", names)
        mind.add_observations([of(f"Something new of {number}.", f"subject {number}") for number in range(10)])
        sage, statements = Sage(), count_statements(monkeypatch)
        run(workspace, sage)
        assert len(sage.asked) == 11
        costs.append(len(statements))
    assert costs[1] <= costs[0] * 1.05
    assert costs[1] < 600


def count_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note every statement that a store is given from now on."""
    from everloom.store.postgresql.unit import PostgresUnit
    from everloom.store.sqlite.unit import SqliteUnit

    said: list[str] = []
    for unit in (SqliteUnit, PostgresUnit):
        for method in ("run", "send", "all", "one", "many"):
            original = getattr(unit, method)

            def counted(self: Any, statement: str, *args: Any, _original: Any = original, **kw: Any) -> Any:
                said.append(statement)
                return _original(self, statement, *args, **kw)

            monkeypatch.setattr(unit, method, counted)
    asked_together = PostgresUnit.together

    def together(self: Any, *lookups: Any) -> Any:
        said.extend(each.name for each in lookups)
        return asked_together(self, *lookups)

    # On SQLite these are counted one by one.
    monkeypatch.setattr(PostgresUnit, "together", together)
    return said
