"""One search: no text can break it, every scope holds, every term of the ranking matters and is explained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everloom.clock import ManualClock
from everloom.errors import ProviderBusy, Rejected
from everloom.kernel.embedding import Embedding
from everloom.kernel.search import DEFAULT, Finder, Index, Recipe, Scope
from everloom.kernel.search.fusion import SPREAD
from everloom.kernel.search.hits import REASONS
from everloom.loom import Loom, Workspace
from everloom.models.catalog import Traits
from everloom.models.embed import EmbedderChain, EmbeddingTask, TextVectors
from tests.store.ground import NOW, cover, days_ago, insight, note, open_at, retire

OPERATORS = (
    """ " ' "" * ^ ( ) NEAR NEAR( AND OR NOT text: context: {text}: - + : MATCH rank % _ \\ ; -- /* tide """.split()
)
SCRIPTS = ["🙂", "👩‍👩‍👧", "مرحبا بالعالم", "שלום", "日本語の文章", "你好世界", "สวัสดีชาวโลก", "ខ្ញុំ", "हिन्दी"]
INVISIBLE = ["\u200b", "\u200f", "\r\n", "\t", "\ufeff"]
SYNTAX = st.sampled_from([*OPERATORS, *SCRIPTS, *INVISIBLE, "x'; DROP TABLE document; --", "harbour"])
HOSTILE = st.lists(SYNTAX | st.text(max_size=8), min_size=1, max_size=8).map(" ".join)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def harbour(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with a few notes, on each engine, that no test changes."""
    if request.param == "sqlite":
        with open_at(f"sqlite://{tmp_path_factory.mktemp('harbour')}/loom.db") as loom:
            yield filled(loom)
    else:
        with request.getfixturevalue("postgres_server").database() as url, open_at(url) as loom:
            yield filled(loom)


def filled(loom: Loom) -> Workspace:
    place = loom.workspace("harbour")
    place.add(
        [note("The tide rises in the harbour."), note("日本語の文章です"), note("สวัสดีชาวโลก"), note("مرحبا بالعالم")]
    )
    loom.workspace("elsewhere").add([note("The tide rises in the harbour of another.")])
    return place


@pytest.mark.promise("search.no-syntax")
@settings(max_examples=150, deadline=None, suppress_health_check=[*HealthCheck])
@given(cue=HOSTILE)
def test_no_question_is_ever_syntax(harbour: Workspace, cue: str) -> None:
    if not cue.strip() or any(char == "\x00" or 0xD800 <= ord(char) <= 0xDFFF for char in cue):
        with pytest.raises(Rejected):
            harbour.search(cue)
    else:
        assert all("another" not in hit.text for hit in harbour.search(cue))


@pytest.mark.promise("search.no-syntax")
@pytest.mark.parametrize(
    "cue",
    [
        "tide AND nonsense",
        'tide" OR "x',
        "text:tide",
        "^tide",
        "tide*",
        "NEAR(tide x, 2)",
        "(tide",
        "tide)",
        "{text}: tide",
        "NOT tide",
    ],
)
def test_operators_are_words_like_others(harbour: Workspace, cue: str) -> None:
    assert harbour.search(cue, recipe=replace(DEFAULT, vectors=0.0))[0].text == "The tide rises in the harbour."


@pytest.mark.promise("search.no-syntax")
@pytest.mark.parametrize("cue", ["nul \x00 inside", "\ud800 alone", "", "   \n "])
def test_what_cannot_be_stored_cannot_be_asked(harbour: Workspace, cue: str) -> None:
    with pytest.raises(Rejected):
        harbour.search(cue)


@pytest.mark.promise("search.scripts")
@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("文章", "日本語の文章です"),
        ("ชาวโลก", "สวัสดีชาวโลก"),
        ("بالعالم", "مرحبا بالعالم"),
        ("rising tides", "The tide"),
    ],
)
def test_every_script_is_found_by_words_alone(harbour: Workspace, cue: str, text: str) -> None:
    assert harbour.search(cue, recipe=replace(DEFAULT, vectors=0.0))[0].text.startswith(text)


@pytest.mark.promise("search.no-syntax")
def test_a_question_of_very_many_words_is_answered(harbour: Workspace) -> None:
    cue = "tide " + " ".join(f"word{number}" for number in range(2_000))
    assert "The tide rises in the harbour." in [hit.text for hit in harbour.search(cue) if "tide" in hit.matched_words]
    with pytest.raises(Rejected, match="split it"):
        harbour.search("tide " * 10_000)


def test_very_many_known_words_are_answered(workspace: Workspace) -> None:
    words = [f"berth{number}x" for number in range(1_500)]
    workspace.add([note(" ".join(words[start : start + 50])) for start in range(0, 1_500, 50)])
    assert len(workspace.search(" ".join(words), limit=30)) == 30


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_page_has_a_sensible_size(harbour: Workspace, limit: int) -> None:
    with pytest.raises(Rejected):
        harbour.search("tide", limit=limit)


def test_nothing_is_found_in_an_empty_workspace(workspace: Workspace) -> None:
    findings = workspace.find("anything at all")
    assert findings.hits == ()
    assert findings.degraded is None


@pytest.mark.promise("search.scope")
def test_kinds_and_times_bound_a_search(workspace: Workspace) -> None:
    letter, old, fresh = workspace.add(
        [
            note("A letter about the tide.", kind="letter"),
            note("The tide long ago.", happened_at=days_ago(100)),
            note("The tide this morning.", happened_at=days_ago(1)),
        ]
    )

    def found(**within: Any) -> set[int]:
        return {hit.id for hit in workspace.search("tide", within=Scope(**within))}

    assert found() == {letter, old, fresh}
    assert found(kinds=frozenset({"letter"})) == {letter}
    assert found(kinds=frozenset({"letter", "note"})) == {letter, old, fresh}
    assert found(kinds=frozenset()) == set()
    assert found(happened_until=days_ago(50)) == {old}
    assert found(happened_from=days_ago(2), happened_until=days_ago(0.5)) == {fresh}
    assert found(happened_from=days_ago(100), happened_until=days_ago(100)) == {old}
    assert found(happened_from=NOW + timedelta(days=1)) == set()


@pytest.mark.promise("search.scope")
def test_a_narrow_kind_is_found_among_very_many_others(workspace: Workspace) -> None:
    workspace.add([note(f"The tide of day {number}.") for number in range(300)])
    (letter,) = workspace.add([note("Ebb and flow, in a letter.", kind="letter")])
    workspace.add([note(f"The tide of night {number}.") for number in range(300)])
    assert [hit.id for hit in workspace.search("tide", within=Scope(kinds=frozenset({"letter"})))] == [letter]


@pytest.mark.promise("search.as-of")
def test_the_past_is_as_it_was_believed_then(workspace: Workspace, clock: ManualClock) -> None:
    (first,) = workspace.add([note("The tide is at nine.")])
    then = clock.now()
    clock.advance(timedelta(days=1))
    retire(workspace, first)
    (second,) = workspace.add([note("The tide comes at ten o'clock.")])

    def found(**within: Any) -> list[int]:
        return [hit.id for hit in workspace.search("when is the tide?", within=Scope(**within))]

    assert found() == [second]
    assert found(as_of=then) == [first]
    assert found(as_of=clock.now()) == [second]
    assert found(as_of=then - timedelta(seconds=1)) == []
    assert found(as_of=clock.now() + timedelta(days=365)) == [second]


@pytest.mark.promise("search.as-of")
def test_the_past_does_not_know_what_covers_it_later(workspace: Workspace, clock: ManualClock) -> None:
    (item,) = workspace.add([note("The tide is at nine.")])
    then = clock.now()
    clock.advance(timedelta(days=1))
    (later,) = workspace.add([insight("Tides come an hour later each day, roughly speaking.")])
    cover(workspace, later, item)
    (hit,) = workspace.search("tide", within=Scope(as_of=then))
    assert not hit.is_covered


@pytest.mark.promise("search.diversity")
def test_near_duplicates_fold_into_one(workspace: Workspace) -> None:
    ids = workspace.add(
        [
            note("The ferry to Bergen leaves at noon from the old quay."),
            note("The old ferry to Bergen leaves the quay at noon."),
            note("Audrey bakes bread."),
        ]
    )
    hits = workspace.search("ferry to Bergen")
    assert len(hits) == 2
    assert {hits[0].id, *hits[0].also} == set(ids[:2])
    assert hits[0].explain()[-1] == "represents 1 more that say the same"


@pytest.mark.promise("search.covered")
def test_covered_evidence_stands_below_its_synthesis(workspace: Workspace) -> None:
    texts = ["James sails every Sunday with his brother.", "Last Sunday James sailed to the island."]
    evidence = workspace.add([note(text, happened_at=days_ago(60)) for text in texts])
    filler = [note(f"An unrelated remark about {word}.") for word in "taxes bread maps violins snow rent kites".split()]
    workspace.add(filler)
    (synthesis,) = workspace.add([insight("James is a devoted sailor, and sails on Sundays.")])
    cover(workspace, synthesis, *evidence)
    hits = workspace.search("When does James sail?", limit=5)
    assert hits[0].id == synthesis
    assert set(evidence) & set(hits[0].also)
    assert not set(evidence) & {hit.id for hit in hits[:1]}


@pytest.mark.promise("search.covered")
def test_covered_evidence_is_lowered_where_its_synthesis_is_not_asked_for(workspace: Workspace) -> None:
    (one,) = workspace.add([note("The boiler was repaired by Malik in March.", kind="note")])
    (other,) = workspace.add([note("The boiler was inspected by Malik in April.", kind="note")])
    workspace.add([note("Bread."), note("Snow.")])
    (synthesis,) = workspace.add([insight("Household matters.")])
    cover(workspace, synthesis, other)
    only = Scope(kinds=frozenset({"note"}))
    ranked = workspace.search("boiler Malik", within=only)
    assert [hit.id for hit in ranked[:2]] == [one, other]
    assert ranked[1].is_covered
    assert ranked[1].bias["covered"] < 1
    neutral = replace(DEFAULT, bias=replace(DEFAULT.bias, covered=1.0))
    assert [hit.id for hit in workspace.search("boiler Malik", within=only, recipe=neutral)[:2]] == [other, one]


Setup = Callable[[Workspace], tuple[int, int]]
# The question is a little nearer to the first.
TWINS = ("Audrey repaired the kitchen pump.", "Audrey repaired the garden pump.")


def added(place: Workspace, low: dict[str, Any], high: dict[str, Any]) -> tuple[int, int]:
    """Add two notes that the question fits alike; the second has the better circumstances and is older by its id."""
    ids = place.add([note(TWINS[1], **high), note(TWINS[0], **low), note("Snow fell."), note("Bread rose.")])
    return ids[1], ids[0]


def synthesis(place: Workspace) -> tuple[int, int]:
    made = insight(TWINS[1])
    old = {"happened_at": days_ago(4_000), "confidence": 1.0, "model_tier": "opus"}
    ids = place.add([made, note(TWINS[0], **old), note("Snow fell."), note("Bread rose.")])
    return ids[1], ids[0]


def recency(place: Workspace) -> tuple[int, int]:
    return added(place, {"happened_at": days_ago(120)}, {"happened_at": days_ago(1)})


def unreinforced(place: Workspace) -> tuple[int, int]:
    low, high = added(place, {"happened_at": days_ago(2_000)}, {"happened_at": days_ago(2_000)})
    place.show(high)
    return low, high


def softening(place: Workspace) -> tuple[int, int]:
    weak = {"happened_at": days_ago(3_000), "confidence": 0.1, "model_tier": "haiku"}
    strong = {"happened_at": days_ago(3_000), "confidence": 0.9, "model_tier": "opus"}
    return added(place, weak, strong)


def useful(place: Workspace) -> tuple[int, int]:
    low, high = added(place, {}, {})
    place.mark(high, "useful")
    return low, high


def questionable(place: Workspace) -> tuple[int, int]:
    low, high = added(place, {}, {})
    place.mark(low, "questionable")
    return low, high


def pinned(place: Workspace) -> tuple[int, int]:
    low, high = added(place, {}, {})
    place.pin(high)
    return low, high


NEUTRAL: dict[Setup, dict[str, Any]] = {
    synthesis: {"synthesis": 1.0, "recency": 0.0, "unreinforced": 0.0},
    recency: {"recency": 0.0, "unreinforced": 0.0},
    unreinforced: {"unreinforced": 0.0},
    softening: {"softening": 0.0},
    useful: {"useful": 0.0, "softening": 0.0},
    questionable: {"questionable": 1.0},
    pinned: {"pinned": 1.0},
}


@pytest.mark.promise("search.bias")
@pytest.mark.parametrize("setup", NEUTRAL, ids=lambda setup: setup.__name__)
def test_each_circumstance_moves_a_hit_and_only_while_its_term_is_there(workspace: Workspace, setup: Setup) -> None:
    low, high = setup(workspace)
    cue = "Audrey pump repaired"
    with_term = [hit.id for hit in workspace.search(cue) if hit.id in {low, high}]
    neutral = replace(DEFAULT, bias=replace(DEFAULT.bias, **NEUTRAL[setup]))
    without = [hit.id for hit in workspace.search(cue, recipe=neutral) if hit.id in {low, high}]
    assert with_term == [high, low]
    assert without == [low, high]


@pytest.mark.promise("search.explained")
def test_a_score_is_its_relevance_moved_a_little_by_its_factors(workspace: Workspace) -> None:
    ids = workspace.add(
        [
            note("The pump was repaired.", happened_at=days_ago(400)),
            insight("Pumps need repair each spring.", labels=("pump", "garden")),
            note("A new pump was bought.", context="They spoke about the garden pump."),
            note("Snow."),
        ]
    )
    cover(workspace, ids[1], ids[0])
    workspace.mark(ids[0], "useful")
    workspace.pin(ids[2])
    hits = workspace.search("garden pump repair")
    assert len(hits) >= 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.relevance == pytest.approx(1 / (1 + math.exp(-sum(hit.signals.values()) / SPREAD)))
        assert abs(strength_of(hit.score) - strength_of(hit.relevance)) <= DEFAULT.bias.reach + 1e-9
        assert {"words", "context", "vectors", "share"} <= set(hit.signals) <= SIGNALS
        assert set(hit.bias) <= REASONS.keys()
        assert len(hit.explain()) >= len(hit.bias)
    by_id = {hit.id: hit for hit in hits}
    assert by_id[ids[1]].matched_words == ("pump", "repair")
    assert by_id[ids[1]].labels == ("pump", "garden")


SIGNALS = {"words", "context", "vectors", "around", "share", "names", "who", "time", "wishes", "verbatim"}


def strength_of(share: float) -> float:
    """Undo the squashing of a relevance."""
    return SPREAD * math.log(share / (1 - share))


def test_a_question_of_many_pages_is_answered_on_few(workspace: Workspace) -> None:
    (wanted, *_) = workspace.add([note("The zeppelin landed."), *(note(f"Word{at} of many.") for at in range(40))])
    pages = " ".join(f"word{number}" for number in range(2_200))
    hits = workspace.search(f"{pages} zeppelin", limit=50)
    assert wanted in [hit.id for hit in hits]
    assert all(len(hit.matched_words) <= 2 for hit in hits)


@pytest.mark.promise("search.explained")
def test_an_explanation_uses_the_words_of_the_question(workspace: Workspace) -> None:
    sails, leaves, _ = workspace.add(
        [
            note("Caroline was happiest when sailing, and happy at home."),
            note("Yes, at nine.", context="Does Caroline's ferry leave early?", labels=("ferry",)),
            note("日本語の文章です"),
        ]
    )
    found = {hit.id: hit.explain() for hit in workspace.search("Is CAROLINE happy about the ferries?")}
    assert found[sails][0] == "words it shares with the question: CAROLINE, happy"
    assert found[leaves][0] == "words around it or in its labels: CAROLINE, ferries"
    farthest = min(workspace.search("The ferry leaves."), key=lambda hit: hit.similarity or 0.0)
    assert farthest.explain()[0] == "a weak match, but nothing better was found"
    assert workspace.search("日本語", limit=1)[0].matched_words == ("日本", "本語")
    assert workspace.search("What is Mr O'Brien's ship?")[0].words_around == ()


@pytest.mark.promise("search.short-texts")
def test_what_is_around_a_long_text_counts_less(workspace: Workspace) -> None:
    long = "The council met for hours and argued about parking, trees, noise, rubbish, benches, lamps, dogs and " * 3
    around = "They spoke about the drawbridge."
    tale, answer, _ = workspace.add([note(long, context=around), note("At nine.", context=around), note("Snow fell.")])
    regardless = replace(DEFAULT, short=1e9)
    signals = {hit.id: hit.signals["context"] for hit in workspace.search("drawbridge")}
    as_before = {hit.id: hit.signals["context"] for hit in workspace.search("drawbridge", recipe=regardless)}
    assert signals[answer] == as_before[answer] == as_before[tale] > 2 * signals[tale] > 0


@pytest.mark.promise("search.context")
def test_labels_and_context_are_found_by_their_words(workspace: Workspace) -> None:
    alone = replace(DEFAULT, vectors=0.0)
    (labelled,) = workspace.add([note("He was late again.", labels=("Malik",))])
    (around,) = workspace.add([note("Yes, at nine.", context="When does the ferry leave?")])
    assert [hit.id for hit in workspace.search("Malik", recipe=alone)] == [labelled]
    assert [hit.id for hit in workspace.search("ferry", recipe=alone)] == [around]


@pytest.mark.promise("search.leaving-out")
def test_leaving_out_never_starves(workspace: Workspace) -> None:
    texts = [f"The tide on day {number}: {number * 7} feet, wind from {number * 13} degrees." for number in range(260)]
    ids = workspace.add([note(text) for text in texts])
    seen: frozenset[int] = frozenset()
    for _ in range(13):
        found = workspace.loom.finder.search(workspace.info.id, "tide and wind", limit=20, leaving_out=seen)
        fresh = {item for hit in found.hits for item in (hit.id, *hit.also)}
        assert len(found.hits) == 20 or len(seen | fresh) == len(ids)
        assert not fresh & seen
        seen |= fresh
    assert seen == set(ids)


class Down:
    """A provider that cannot answer."""

    traits = Traits("test:down", 256, is_fast=True)

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        raise ProviderBusy("the model is not there")


def chained(loom: Loom, *links: Any) -> tuple[Index, Finder]:
    embedding = Embedding(loom.store, EmbedderChain(list(links), loom.clock))
    return Index(embedding), Finder(loom.store, embedding, loom.clock)


@pytest.mark.promise("search.degrades-to-words")
def test_without_an_embedder_words_are_enough_and_it_is_said(workspace: Workspace) -> None:
    workspace.add([note("The ferry leaves at noon.")])
    _, finder = chained(workspace.loom, Down())
    findings = finder.search(workspace.info.id, "ferry")
    assert [hit.text for hit in findings.hits] == ["The ferry leaves at noon."]
    assert findings.degraded == "no embedder could answer: found by words alone"
    assert not findings.by_vectors
    assert findings.hits[0].similarity is None
    assert workspace.find("ferry").degraded is None


@pytest.mark.promise("search.degrades-to-words")
def test_what_has_no_vector_yet_is_found_by_its_words(workspace: Workspace) -> None:
    index, _ = chained(workspace.loom, Down())
    prepared = index.prepare([note("The ferry leaves at noon.")])
    with workspace.loom.store.write(workspace.info.id) as unit:
        (waiting,) = index.add(unit, prepared, NOW)
    (embedded,) = workspace.add([note("A boat to the island.")])
    hits = workspace.search("ferry")
    assert {hit.id: hit.similarity is None for hit in hits} == {waiting: True, embedded: False}
    assert hits[0].id == waiting
    assert workspace.coverage().waiting == 1


@pytest.mark.promise("search.vectors-help")
def test_meaning_finds_what_words_do_not(workspace: Workspace) -> None:
    workspace.add([note("A canoe drifted downstream."), note("The parliament debated taxes."), note("Bread rose.")])
    assert workspace.search("kayak")[0].text == "A canoe drifted downstream."
    assert workspace.search("kayak", recipe=replace(DEFAULT, vectors=0.0)) == ()


@pytest.mark.parametrize("field", ["words", "context", "vectors"])
def test_each_signal_counts(workspace: Workspace, field: str) -> None:
    workspace.add(
        [
            note("The kayak was stolen."),
            note("It was stolen.", context="They spoke of the kayak."),
            note("A canoe drifted downstream."),
            note("Bread rose."),
        ]
    )
    usual = {hit.id: hit.score for hit in workspace.search("stolen kayak")}
    only: dict[str, Any] = {"words": 0.0, "context": 0.0, "vectors": 0.0, field: 1.0}
    without: dict[str, Any] = {field: 0.0}
    alone, muted = Recipe(**only), replace(DEFAULT, **without)
    assert {hit.id: hit.score for hit in workspace.search("stolen kayak", recipe=muted)} != usual
    best = workspace.search("stolen kayak", recipe=alone)[0].text
    assert best == ("It was stolen." if field == "context" else "The kayak was stolen.")


def test_a_long_document_and_a_title_are_found(lend_store_url: Callable[[], AbstractContextManager[str]]) -> None:
    with lend_store_url() as url, open_at(url) as loom:
        place = loom.workspace("james")
        (item,) = place.add([note("word " * 20_000 + "needle", title="Haystack")])
        place.add([note("Bread rose.")])
        assert place.search("needle")[0].id == item
        assert place.search("haystack")[0].title == "Haystack"


@pytest.mark.promise("search.commoner-words-choose")
def test_of_many_texts_that_share_a_rare_name_the_commoner_words_choose_the_one_that_is_meant(
    workspace: Workspace,
) -> None:
    # As in a memory so large that the commoner words may not select candidates themselves.
    large = Recipe(vectors=0.0, around=0.0, word_candidates=5, postings=45, sharing=200)
    workspace.add([note(f"Somebody sold a novel in {number} hours.") for number in range(200)])
    shared = [note(f"Chloe sold lamp {number} from Darum.") for number in range(40)]
    *_, meant = workspace.add([*shared, note("Chloe sold novel 99 from Darum.")])
    assert workspace.search("when was the Darum novel sold?", limit=1, recipe=large)[0].id == meant
    before = workspace.search("when was the Darum novel sold?", limit=1, recipe=replace(large, sharing=0))
    assert before[0].id != meant, "the test is about nothing"
