"""The budget of an answer: every reading verb has one, and what is left off is counted and can be read on."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.errors import Rejected
from everloom.kernel.answer.budget import Listed, cost, fitted
from everloom.kernel.answer.encode import BY_ID, as_data
from everloom.kernel.verbs import ANSWER_TOKENS, PAGE_TOKENS, Verb
from everloom.loom import Loom, Workspace, open_loom
from everloom.semantic import NewObservation
from everloom.semantic.results import Understanding
from everloom.wiring.faculties import FACULTIES

# Reading verbs whose answers are short by nature: counts, the few perspectives, graphs and tasks of a workspace, what
# it is, the state of one job, the sizes of a few regions, and what is given whole: the status, and a job's result.
BOUNDED = {"reset_seen", "get_stats", "list_perspectives", "census", "list", "jobs"}
BOUNDED |= {"describe", "coverage", "perspectives", "read_status", "status", "measure_overlap", "result"}
LONG = ("The wind turned and we reefed the sails at dawn. " * 80).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    id: int
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    id: int
    title: str
    lines: tuple[Line, ...] = ()
    names: tuple[str, ...] = ()
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    left_off: int = 0
    note: str | None = None


WORDS = st.text('abc dé中\n"', min_size=0, max_size=40).map(lambda text: text * 9)
LINES = st.builds(Line, id=st.integers(1, 99), text=WORDS, names=st.lists(WORDS, max_size=3).map(tuple))
STORIES = st.builds(
    Story,
    id=st.just(7),
    title=WORDS,
    lines=st.lists(LINES, max_size=12).map(tuple),
    names=st.lists(st.text("abc", max_size=9), max_size=90).map(tuple),
    counts=st.dictionaries(st.text("abcd", max_size=6), st.integers(0, 9), max_size=30),
)


@pytest.mark.promise("trust.9-short-answers")
@settings(max_examples=60)
@given(story=STORIES, tokens=st.integers(200, 3_000))
def test_any_answer_keeps_within_its_budget_and_counts_what_it_leaves_off(story: Story, tokens: int) -> None:
    told = fitted(story, tokens)
    if cost(story) <= tokens:
        assert told is story
        return
    assert cost(told) <= tokens
    assert [each.id for each in told.lines] == [each.id for each in story.lines][: len(told.lines)]
    assert told.names == story.names[: len(told.names)]
    assert list(told.counts) == list(story.counts)[: len(told.counts)]
    parts = [(story.lines, told.lines), (story.names, told.names), (story.counts, told.counts)]
    missing = sum(len(whole) - len(kept) for whole, kept in parts)
    assert told.left_off == missing
    fewer = len(story.lines) - len(told.lines)
    assert (f"{fewer} more lines" in (told.note or "")) == (fewer > 0)
    assert told.title == story.title or told.title.endswith("… [cut; show 7 has all of it]")
    for whole, kept in zip(story.lines, told.lines, strict=False):
        assert kept.text == whole.text or kept.text.endswith(f"… [cut; show {whole.id} has all of it]")


def test_a_list_that_is_an_answer_carries_its_note() -> None:
    lines = [Line(id=item, text=f"Line {item}. {LONG}") for item in range(1, 30)]
    told: Any = fitted(lines, 800)
    assert isinstance(told, Listed)
    assert 1 < len(told) < 29
    assert told.note == f"{29 - len(told)} more; ask with a larger max_tokens"
    assert as_data(told)[0]["text"].endswith("show 1 has all of it]")
    assert fitted(lines[:1], 800)[0].text.startswith("Line 1.")
    assert fitted(lines, None) is lines
    assert [each.id for each in fitted(Story(id=1, title="", lines=tuple(lines)), 800, last={"lines"}).lines][-1] == 29
    for wrong in (199, 100_001, True, "800"):
        with pytest.raises(Rejected, match="max_tokens"):
            fitted(lines, wrong)  # type: ignore[arg-type]


def test_what_the_text_tells_is_written_by_its_id() -> None:
    @dataclass(frozen=True)
    class Hit:
        line: Line = dataclasses.field(metadata=BY_ID)
        lines: tuple[Line, ...] = dataclasses.field(metadata=BY_ID)

    line = Line(id=3, text="told in the text")
    assert as_data(Hit(line, (line, line))) == {"line": {"id": 3}, "lines": [{"id": 3}, {"id": 3}]}


def reading_verbs() -> list[tuple[str, Verb]]:
    return [(faculty.name, verb) for faculty in FACULTIES.values() for verb in faculty.verbs if not verb.effect.writes]


@pytest.mark.promise("trust.9-short-answers")
@pytest.mark.parametrize("verb", [pytest.param(verb, id=f"{name}.{verb.name}") for name, verb in reading_verbs()])
def test_every_reading_verb_has_a_budget_or_is_short_by_nature(verb: Verb) -> None:
    budget = next((each for each in verb.parameters if each.name == "max_tokens"), None)
    if budget is None:
        assert verb.name in BOUNDED
        return
    # A record that was asked for by its id is whole, except for a model.
    most = budget.says.for_models if budget.default is None else budget.default
    assert most in (ANSWER_TOKENS, PAGE_TOKENS)
    assert budget.default is not None or type(None) in get_args(budget.type)


@pytest.fixture
def place(store_url: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
    with open_loom(store_url) as loom:
        yield crowded(loom)


def crowded(loom: Loom) -> Workspace:
    """Make a workspace in which every list is long, and so is every text."""
    place = loom.workspace("maya", session="one")
    semantic, episodic, graph, mind = place.semantic, place.episodic, place.graph, place.mind
    names = [("boat", "wind"), ("boat", "crew"), *(("boat", f"island {number}") for number in range(40))]
    semantic.add_observations(
        [NewObservation(subject_names=about, content=f"{each}. {LONG}") for each, about in enumerate(names * 2)]
    )
    for about in (["boat"], ["boat", "wind"]):
        item = semantic.create_understanding(about, f"First. {LONG}", f"About {about}.").id
        for number in range(4):
            item = semantic.update_understanding(item, f"Again {number}. {LONG}", "Anew.").new_understanding_id
    semantic.set_subject_tags("boat", [f"tag {number}" for number in range(40)])
    semantic.describe_session("What was done.", LONG * 3)
    scenes = [
        {"action": f"We sailed to island {each}. {LONG}"[:3_900], "feeling": LONG[:3_900], "when": "2026-03-14"}
        for each in range(12)
    ]
    episodic.update_notes(scenes=scenes)
    episodic.trigger_patrol(wait=True)
    for number in range(8):
        episodic.update_memory("knowledge", "append", f"{number} {LONG}", key=f"key {number}")
        graph.store(
            type="decision",
            title=f"Decision {number} about the boat",
            content=f"{number} {LONG}",
            tags=f"boat, t{number}",
        )
        mind.write_note(f"projects/boat{number}.md", f"{number} {LONG * 8}")
    return place


@pytest.mark.promise("trust.9-short-answers")
def test_in_a_crowded_workspace_no_answer_is_longer_than_its_budget(place: Workspace) -> None:
    semantic, episodic, graph, mind = place.semantic, place.episodic, place.graph, place.mind
    (understanding,) = [each for each in semantic.get_understandings(["boat"]) if each.subject_names == ("boat",)]
    cluster = max(episodic.recall_memory().clusters, key=lambda each: each.active)
    memory = graph.recent(limit=1)[0]
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (semantic.orient, ()),
        (semantic.open_around, ("boat",)),
        (semantic.open_intersection, ("boat", "wind")),
        (semantic.sessions, ()),
        (semantic.what_happened, ("one",)),
        (semantic.get_session_context, ("one",)),
        (semantic.show, (understanding.id,)),
        (semantic.get_subjects, (["boat", "wind", "crew"],)),
        (semantic.get_subjects_by_tag, ("tag 3",)),
        (semantic.list_observations, (["boat"],)),
        (semantic.get_understandings, (["boat"],)),
        (semantic.get_understanding_history, (understanding.id,)),
        (semantic.get_consolidation_report, ()),
        (semantic.get_pending_consolidation, ()),
        (semantic.find_similar_subjects, ()),
        (episodic.get_context, ()),
        (episodic.recall, ("We sailed to an island",)),
        (episodic.recall_memory, ()),
        (episodic.recall_memory, (cluster.id,)),
        (episodic.search_memory, ("We sailed to an island",)),
        (episodic.search_history, ()),
        (episodic.update_memory, ("knowledge", "get")),
        (episodic.patrol_report, ()),
        (graph.recall, ("the boat",)),
        (graph.search, ()),
        (graph.get, (memory.id,)),
        (graph.related, (memory.id,)),
        (graph.edge_search, ()),
        (graph.tags, ()),
        (graph.stats, ()),
        (graph.recent, ()),
        (graph.report, ()),
        (graph.core, ()),
        (mind.search_memory, ("the boat",)),
        (mind.list_notes, ()),
        (mind.read_note, ("projects/boat1.md",)),
        (mind.log, ()),
    ]
    for method, given_to in calls:
        # The fields of an orientation take more than a small budget.
        for tokens in (ANSWER_TOKENS, 2_000) if method.__name__ == "orient" else (300, ANSWER_TOKENS, 2_000):
            told = method(**keyword(method, given_to), max_tokens=tokens)
            assert cost(told) <= tokens, (method.__name__, tokens, cost(told))
    assert_read_on(place, understanding)


def keyword(method: Any, given_to: Sequence[Any]) -> dict[str, Any]:
    """Name the positional arguments of a call."""
    return dict(zip(inspect.signature(method).parameters, given_to, strict=False))


def assert_read_on(place: Workspace, understanding: Understanding) -> None:
    """Check that what an answer cut can be read by its id, and that a record is whole by itself."""
    story = place.semantic.what_happened("one")
    assert story.note is not None
    assert story.note.startswith(f"{84 - len(story.observations)} more observations")
    first = story.observations[0]
    assert f"show {first.id}" in first.content
    assert place.semantic.show(first.id).content == f"0. {LONG}"  # type: ignore[union-attr]
    assert len(place.semantic.what_happened("one", max_tokens=100_000).observations) == 84
    assert f"show {understanding.id}" in understanding.content
    assert place.graph.get(place.graph.recent(limit=1)[0].id).content.endswith("dawn.")
    assert place.mind.read_note("projects/boat1.md").body == f"1 {LONG * 8}\n"
    # What was not shown was not recalled.
    before = {each: place.episodic.show(each).reactivation_count for each in ids_of_scenes(place)}
    shown = {hit.node.id for hit in place.episodic.search_memory("We sailed to an island", limit=12).hits}
    after = {each: place.episodic.show(each).reactivation_count for each in before}
    assert {each for each in before if after[each] > before[each]} == shown
    assert 0 < len(shown) < 12


def ids_of_scenes(place: Workspace) -> list[int]:
    clusters = place.episodic.recall_memory(max_tokens=10_000).clusters
    every = [place.episodic.recall_memory(each.id, limit=100, max_tokens=100_000) for each in clusters]
    return [node.id for each in every for node in each.nodes]
