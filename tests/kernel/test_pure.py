"""What decides touches nothing: words, fusion, bias, folding, fading, names and hashes, each by itself."""

from __future__ import annotations

import math
import unicodedata
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everloom.errors import Rejected
from everloom.kernel.embedding import SITUATED, situated
from everloom.kernel.lifecycle import DYING, Access, Vigour, strength_after_days, strength_after_patrols, vigour
from everloom.kernel.search.answers import Evidence, bearing, telling_shares
from everloom.kernel.search.bias import Circumstances, applied, factors, ordered, strength, worth
from everloom.kernel.search.fusion import (
    MOST_TERMS,
    Candidate,
    Corpus,
    Usual,
    fold,
    lacking,
    rarest,
    read_field,
    relevance,
    telling,
    usual_words,
)
from everloom.kernel.search.judging.judge import likely
from everloom.kernel.search.recipe import Bias
from everloom.kernel.search.score import usage
from everloom.kernel.texts import (
    LANGUAGES_IN_LATIN,
    LONGEST_NAME,
    LONGEST_WORD,
    analyse,
    checked,
    checked_name,
    content_hash,
    indexed,
    name_key,
    spellings,
)

PLAIN_WORDS = """the of Peter hotel Wo arbeitet und die Katzen où est la école ¿dónde los gatos 猫の名前 где живёт القطة
    माया""".split()
FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


@pytest.mark.promise("words.reading")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The sailors were sailing", ["sailor", "sail"]),
        ("Audrey's boat isn't James’s", ["audrey", "boat", "jame"]),
        ("Mr O'Brien's ship", ["mr", "o", "brien", "ship"]),
        ("日本語", ["日本", "本語"]),
        ("灯", ["灯"]),
        ("東京tower2", ["東京", "tower2"]),
        ("ＦＵＬＬ width", ["full", "width"]),
        ("snake_case kebab-case", ["snake", "case", "kebab", "case"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("🙂 !?", []),
        ("1984 was 3.14", ["1984", "3", "14"]),
    ],
)
def test_texts_are_read_as_words(text: str, words: list[str]) -> None:
    assert analyse(text) == words


@pytest.mark.promise("words.no-syntax")
@given(st.text())
@example('a\u2019b\'c "d" \u00a0 e\u2028f\u3000g')
@example("ǰʼn ŉ İ ﬃ ª ㎏ ½")
def test_a_word_never_holds_white_space_or_a_quote(text: str) -> None:
    for word in (*analyse(text), *indexed(text)):
        assert word
        assert len(word) <= LONGEST_WORD
        assert not any(char.isspace() or char in "\"'\u2019" for char in word)
        assert word.split() == [word]


@pytest.mark.promise("words.reading")
@given(st.text())
@example("é Å が 각 ﷺ")
def test_composed_and_decomposed_texts_have_the_same_words(text: str) -> None:
    assert analyse(unicodedata.normalize("NFC", text)) == analyse(unicodedata.normalize("NFD", text))


@pytest.mark.promise("words.reading")
@pytest.mark.parametrize("text", ["हिन्दी", "தமிழ்", "עִבְרִית", "العَرَبِيَّة"])
def test_marks_do_not_cut_words_apart(text: str) -> None:
    assert len(analyse(text)) == 1


@pytest.mark.promise("words.reading")
@pytest.mark.parametrize(("pointed", "plain"), [("עִבְרִית", "עברית"), ("العَرَبِيَّة", "العربية")])
def test_vowel_points_do_not_matter(pointed: str, plain: str) -> None:
    assert analyse(pointed) == analyse(plain)


@pytest.mark.promise("words.reading")
@given(st.text(), st.text())
def test_words_of_one_language_do_not_depend_on_what_stands_around_them(one: str, other: str) -> None:
    assert analyse(f"{one}\n{other}", "en") == analyse(one, "en") + analyse(other, "en")


@pytest.mark.promise("words.reading")
@given(st.text() | st.lists(st.sampled_from(PLAIN_WORDS)).map(" ".join))
def test_a_text_is_indexed_by_every_word_that_it_asks_by(text: str) -> None:
    assert set(analyse(text)) <= set(indexed(text))


@pytest.mark.promise("words.reading")
@given(st.text())
@example("Mr O'Brien's SHIPS, 日本語 and ships")
def test_every_word_of_a_text_has_a_spelling(text: str) -> None:
    spelled = spellings(text)
    assert set(spelled) <= set(analyse(text))
    for word, spelling in spelled.items():
        read = {each for code in LANGUAGES_IN_LATIN for each in analyse(spelling, code)}
        assert word in read or len(spelling) > LONGEST_WORD


@given(st.lists(FLOATS, min_size=1, max_size=50), FLOATS, st.floats(0.01, 100))
def test_a_signal_is_measured_by_what_is_usual(values: list[float], mean: float, spread: float) -> None:
    scores = Usual(mean, spread).z(np.array(values)).tolist()
    for (one, z), (other, y) in pairwise(zip(values, scores, strict=True)):
        assert z <= y or one > other
    assert Usual(mean, spread).z(np.array([mean, mean + spread])) == pytest.approx([0.0, 1.0], abs=1e-6)


def test_where_nothing_varies_nothing_stands_out() -> None:
    assert Usual(1.0, 0.0).z(np.array([0.0, 7.0])).tolist() == [0.0, 0.0]


def test_what_is_usual_for_words_follows_from_their_shares() -> None:
    weights, held = np.array([2.0, 1.0]), np.random.default_rng(1).random((200_000, 2)) < [0.1, 0.5]
    usual, scores = usual_words(weights, np.array([0.1, 0.5])), held @ weights
    assert usual.mean == pytest.approx(scores.mean(), rel=0.02)
    assert usual.spread == pytest.approx(scores.std(), rel=0.02)


def test_strengths_are_squashed_in_order() -> None:
    far, low, middle, high = relevance(np.array([-500.0, 0.0, 1.0, 500.0]))
    assert 0.0 <= far < low == 0.5 < middle < high <= 1.0


def test_of_a_very_long_question_the_rarest_known_words_are_scored() -> None:
    few = ("tide", "unknown", "boat")
    corpus = Corpus(
        9_000, 90_000, 0, {"tide": 50, "boat": 10, **{f"w{number}": 1_000 + number for number in range(600)}}
    )
    assert telling(few, corpus) == few
    long = telling((*(f"w{number}" for number in range(600)), *few), corpus)
    assert len(long) == MOST_TERMS
    assert long[:3] == ("boat", "tide", "w0")
    assert "unknown" not in long


def test_a_short_text_lacks_what_is_around_it_and_a_long_one_less() -> None:
    assert lacking(np.array([0.0, 5.0]), 0.0).tolist() == [0.0, 0.0]
    assert lacking(np.array([0.0, 3.0, 12.0, 24.0, 120.0]), 12.0).tolist() == [1.0, 1.0, 1.0, 0.5, 0.1]


@given(st.text(max_size=30), st.text(max_size=1_500), st.text(max_size=1_500) | st.just("around " * 300))
def test_a_vector_reads_the_whole_text_and_around_it_what_there_is_room_for(title: str, text: str, around: str) -> None:
    whole, read = situated(title, text, ""), situated(title, text, around)
    assert read.startswith(whole)
    near = read[len(whole) + 1 :]
    assert around.startswith(near)
    assert len(near) <= max(0, SITUATED - len(whole))
    assert near == around or len(whole) + len(around) > SITUATED


def test_around_a_text_is_cut_between_words() -> None:
    assert situated("", "x" * (SITUATED - 9), "seven sails") == "x" * (SITUATED - 9) + "\nseven"
    assert situated("", "x" * (SITUATED - 2), "日本語") == "x" * (SITUATED - 2) + "\n日本"


def test_rare_words_weigh_more_and_choose_first() -> None:
    corpus = Corpus(100, 1_000, 0, {"tide": 50, "sextant": 1, "boat": 10})
    assert corpus.rarity("sextant") > corpus.rarity("boat") > corpus.rarity("tide") > 0
    assert rarest(["tide", "boat", "sextant", "unknown"], corpus, 1_000) == ["sextant", "boat", "tide"]
    assert rarest(["tide", "boat", "sextant"], corpus, 20) == ["sextant", "boat"]
    assert rarest(["tide"], corpus, 1) == ["tide"]
    assert rarest(["unknown"], corpus, 100) == []
    assert Corpus(0, 0, 0, {}).rarity("tide") > 0


def bm25(text: str, mean_length: float) -> float:
    """Score a text, among others, for a common word and a rare one."""
    field = read_field(["", text, "sextant tide"], ["tide", "sextant"])
    return float(field.bm25(mean_length, np.array([0.5, 3.0]))[1])


def test_bm25_likes_rare_words_repeated_in_short_texts() -> None:
    assert bm25("", 5.0) == 0.0
    assert bm25("fog", 5.0) == 0.0
    assert bm25("sextant", 5.0) > bm25("tide", 5.0) > 0
    assert bm25("tide tide", 2.0) > bm25("tide fog", 2.0)
    assert bm25("tide", 5.0) > bm25("tide" + " fog" * 20, 5.0)


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=8).map(" ".join), max_size=6), st.sets(st.sampled_from("abx"))
)
def test_terms_are_counted_text_by_text(texts: list[str], terms: set[str]) -> None:
    field = read_field(texts, sorted(terms))
    assert field.counts.tolist() == [[text.split().count(term) for term in sorted(terms)] for text in texts]
    assert field.lengths.tolist() == [len(text.split()) for text in texts]


class Case(NamedTuple):
    """One candidate's circumstances."""

    is_synthesis: bool = False
    is_covered: bool = False
    is_archived: bool = False
    age_days: float = 10_000
    idle_days: float = 0
    confidence: float = 0.5
    tier: float = 0.5
    access: Access | None = None

    @property
    def columns(self) -> Circumstances:
        """Write it as the columns of a search with one candidate."""
        known = {name: np.array([value]) for name, value in self._asdict().items() if name != "access"}
        return Circumstances(**known, usage=usage([self.access]) if self.access else None)

    @property
    def factors(self) -> dict[str, float]:
        """Name what moves it."""
        return applied(factors(self.columns, Bias()), 0)


@pytest.mark.promise("search.bias")
def test_every_factor_is_named_and_near_one() -> None:
    cases = {
        "synthesis": Case(is_synthesis=True),
        "covered": Case(is_covered=True),
        "archived": Case(is_archived=True),
        "recency": Case(age_days=0),
        "unreinforced": Case(idle_days=1_000),
        "useful": Case(access=Access(useful=1)),
        "questionable": Case(access=Access(questionable=1)),
        "pinned": Case(access=Access(pinned=True)),
    }
    assert Case().factors == {}
    for name, case in cases.items():
        assert set(case.factors) == {name}
        assert 0.3 < case.factors[name] < 1.5


@pytest.mark.promise("search.bias")
def test_good_provenance_softens_a_penalty() -> None:
    strong = Case(is_covered=True, confidence=1.0, tier=strength("Opus", Bias()), access=Access(count=20))
    weak = Case(is_covered=True, confidence=0.0, tier=strength("haiku", Bias()))
    assert worth(strong.columns).tolist() == [1.0]
    assert worth(weak.columns).tolist() == [0.0]
    assert strength(None, Bias()) == strength("unheard of", Bias()) == 0.5
    assert weak.factors["covered"] < strong.factors["covered"] < 1.0
    assert weak.factors["covered"] == Bias().covered


@pytest.mark.promise("search.bias")
def test_many_verdicts_weigh_little_more_than_a_few() -> None:
    praised = [Case(access=Access(useful=count)).factors["useful"] for count in (1, 2, 50)]
    assert praised == sorted(praised)
    assert praised[-1] <= 1 + Bias().useful
    doubted = [Case(access=Access(questionable=count)).factors["questionable"] for count in (1, 3, 50)]
    assert doubted[1] == doubted[2] == pytest.approx(Bias().questionable ** 3)


@pytest.mark.promise("search.bias")
def test_a_fresh_synthesis_is_raised_as_much_as_fresh_evidence() -> None:
    assert Case(is_synthesis=True, age_days=0).factors == Case(age_days=0).factors
    assert Case(is_synthesis=True, is_covered=True, idle_days=1_000).factors == {"synthesis": Bias().synthesis}


def candidate(item: int, words: str, *covers: int) -> Candidate:
    return Candidate(item, frozenset(words.split()), frozenset(words.split()) & {"asked"}, frozenset(covers))


@pytest.mark.promise("search.ties")
@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 1), st.floats(0.3, 1.5)), min_size=1, max_size=12))
@example([(1.0, 0.0, 1.5), (2.0, 0.0, 1.0), (1.5, 1.0, 1.0)])
def test_circumstance_never_lifts_a_worse_answer_over_a_better_one(cases: list[tuple[float, float, float]]) -> None:
    strengths, likely, factor = (np.array(column) for column in zip(*cases, strict=True))
    bias = Bias()
    order, moved = ordered(strengths, likely, np.arange(len(cases)), {"recency": factor}, bias)
    assert sorted(order) == list(range(len(cases)))
    assert np.all(np.diff(moved[order]) <= 0)
    for higher, lower in pairwise(order):
        assert strengths[lower] - strengths[higher] <= bias.reach
        assert likely[lower] - likely[higher] <= bias.margin or strengths[lower] <= strengths[higher]


@pytest.mark.promise("search.ties")
def test_circumstance_orders_what_answers_about_equally_well() -> None:
    answers, ids = np.array([0.9, 0.9, 0.9]), np.arange(3)
    fresh = {"recency": np.array([1.0, 1.25, 1.0])}
    assert ordered(np.array([5.0, 4.8, 1.0]), answers, ids, fresh, Bias())[0] == [1, 0, 2]
    assert ordered(np.array([5.0, 3.5, 1.0]), answers, ids, fresh, Bias())[0] == [0, 1, 2]


@pytest.mark.promise("search.answers")
def test_how_far_a_text_bears_on_a_question_does_not_depend_on_the_others() -> None:
    weights = telling_shares(("maya", "live"), frozenset({"maya"}), Corpus(100, 900, 0, {"maya": 40, "live": 9}))
    assert weights.sum() == pytest.approx(1.0)
    rows = np.array([[True, True], [True, False], [False, False]])

    def judged(*places: int) -> list[float]:
        chosen = list(places)
        cosine = np.array([0.5, 0.3, 0.05])[chosen]
        case = Evidence(rows[chosen], rows[chosen], cosine, cosine, np.ones(len(chosen)))
        return [float(each) for each in likely(bearing(case, weights, Usual(0.07, 0.09)))]

    both = judged(0, 1, 2)
    assert [*judged(0), *judged(1), *judged(2)] == both
    assert both == sorted(both, reverse=True)
    assert both[0] > 0.9
    assert both[2] < 0.1


@pytest.mark.promise("search.answers")
def test_cosines_decide_where_the_embedder_separates_and_words_where_it_does_not() -> None:
    weights = np.full(4, 0.25)

    def judged(held: int, cosine: float, noise: Usual) -> float:
        rows = np.arange(4)[None, :] < held
        case = Evidence(rows, rows, np.array([cosine]), np.array([cosine]), np.array([0.1]))
        return float(likely(bearing(case, weights, noise))[0])

    clear, blind = Usual(0.07, 0.09), Usual(0.6, 0.07)
    # A long text holds half of the words of many a question by chance.
    assert judged(2, 0.15, clear) < 0.5 < judged(2, 0.5, clear)
    # In a script that the embedder hardly knows, every text is near: three of four words are an answer, none is not.
    assert judged(0, 0.75, blind) < 0.5 < judged(3, 0.58, blind)
    assert judged(3, 0.58, blind) == pytest.approx(judged(3, 0.75, blind))
    # In between both count, and more evidence of either kind is never less.
    between = Usual(0.3, 0.1)
    assert judged(2, 0.4, blind) < judged(3, 0.4, between) < judged(3, 0.6, between)


@pytest.mark.promise("search.diversity")
def test_folding_keeps_the_best_and_remembers_the_rest() -> None:
    ranked = [
        candidate(1, "a b c"),
        candidate(2, "a b c"),
        candidate(3, "x y", 1),
        candidate(4, "q"),
        candidate(5, "z"),
    ]
    assert fold(ranked, 2, 0.85) == {1: (2, 3), 4: ()}
    assert fold(ranked, 10, 1.1) == {1: (3,), 2: (), 4: (), 5: ()}
    assert fold([], 3, 0.85) == {}


@pytest.mark.promise("search.diversity")
def test_evidence_that_outranks_its_synthesis_stays() -> None:
    assert fold([candidate(1, "a", 2), candidate(2, "b")], 5, 0.85) == {1: (), 2: ()}


@pytest.mark.promise("search.evidence")
def test_evidence_stays_when_it_alone_holds_a_word_of_the_question() -> None:
    assert fold([candidate(1, "a b"), candidate(2, "b asked", 1)], 5, 0.3) == {1: (), 2: ()}
    assert fold([candidate(1, "a asked"), candidate(2, "b asked", 1)], 5, 0.85) == {1: (2,)}


@pytest.mark.promise("search.diversity")
@given(*[st.frozensets(st.integers(0, 9).map(str))] * 2, st.sampled_from([0.25, 0.5, 0.75, 0.85, 1.0]))
def test_two_texts_say_the_same_when_they_share_enough(one: frozenset[str], other: frozenset[str], same: float) -> None:
    enough = bool(one and other) and len(one & other) >= same * len(one | other)
    first, second = (Candidate(each, words, frozenset(), frozenset()) for each, words in ((1, one), (2, other)))
    assert fold([first, second], 2, same) == ({1: (2,)} if enough else {1: (), 2: ()})
    assert fold([second, first], 2, same) == ({2: (1,)} if enough else {2: (), 1: ()})


@pytest.mark.promise("lifecycle.patrols")
@pytest.mark.parametrize(("importance", "patrols"), [(1.0, 90), (0.5, 70), (0.3, 54)])
def test_a_scene_dies_after_so_many_patrols(importance: float, patrols: int) -> None:
    assert strength_after_patrols(importance, patrols - 1, 0) >= DYING
    assert strength_after_patrols(importance, patrols, 0) < DYING
    assert strength_after_patrols(importance, patrols, 1) == strength_after_patrols(importance, patrols - 1, 0)
    assert strength_after_patrols(importance, 0, 0) == importance


@pytest.mark.promise("lifecycle.days")
@pytest.mark.parametrize(
    ("strength", "name"),
    [
        (0.5, Vigour.ACTIVE),
        (math.nextafter(0.5, 0), Vigour.FADING),
        (0.2, Vigour.FADING),
        (math.nextafter(0.2, 0), Vigour.DORMANT),
        (0.05, Vigour.DORMANT),
        (math.nextafter(0.05, 0), Vigour.ARCHIVED),
        (0.0, Vigour.ARCHIVED),
    ],
)
def test_each_bound_belongs_to_the_better_name(strength: float, name: Vigour) -> None:
    assert vigour(strength) is name


@pytest.mark.promise("lifecycle.days")
def test_an_unread_memory_counts_half() -> None:
    assert strength_after_days(1.0, 0, 0, 1.0) == 0.5
    assert strength_after_days(1.0, 0, 1, 1.0) == 1.0
    assert strength_after_days(1.0, 0, 3, 1.0) == 2.0
    assert strength_after_days(0.8, math.log(2) / 0.03, 1, 2.0) == pytest.approx(0.8)


@pytest.mark.promise("texts.content-hash")
def test_only_composition_and_white_space_may_differ_between_equals() -> None:
    assert content_hash("James  sails.\n") == content_hash(" James sails.")
    assert content_hash("caf\u00e9") == content_hash("cafe\u0301")
    assert content_hash("James sails.") != content_hash("james sails.")
    assert content_hash("James sails.") != content_hash("James sails")
    assert len(content_hash("")) == 64


@pytest.mark.promise("texts.name-key")
@given(st.sampled_from(["wealth_simulator", "Wealth Simulator", "WEALTH--simulator", " wealth _-_ Simulator "]))
def test_spellings_of_one_name_share_a_key(name: str) -> None:
    assert name_key(name) == "wealth simulator"


@pytest.mark.promise("texts.name-key")
@given(st.text())
def test_a_key_is_its_own_key(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert name_key(unicodedata.normalize("NFD", name)) == name_key(unicodedata.normalize("NFC", name))


@pytest.mark.parametrize("name", ["", "  ", "--", "_ -", "a\nb", "a\x00b", "x" * (LONGEST_NAME + 1), "\ud800"])
def test_what_cannot_be_said_is_no_name(name: str) -> None:
    with pytest.raises(Rejected) as refusal:
        checked_name(name, "the name")
    assert refusal.value.hint


def test_a_name_is_trimmed_and_a_text_kept_as_it_is() -> None:
    assert checked_name("  James   the  Sailor ", "the name") == "James the Sailor"
    assert checked(" two\nlines ", "the text") == " two\nlines "
    with pytest.raises(Rejected, match="must be text"):
        checked(7, "the text")
