"""What a reader can still answer after a conversation was compacted again and again, in each way of compaction."""

from __future__ import annotations

import pytest

from benchmarks.folding.corpus import conversation
from benchmarks.folding.run import WAYS, markdown, measure, summed_up

# The share of the questions that the array alone must still answer at the end; benchmarks.md has those of a longer run.
FLOORS = {"outline": 0.4, "model": 0.75, "server": 0.75}
# The search finds the sentence that was corrected, and takes the correction for something that does not fit.
KNOWN_MISS = {"Was ist jetzt meine Nummer im Büro?"}


@pytest.mark.promise("mind.compaction-quality")
def test_after_many_compactions_the_array_answers_most_and_search_answers_the_rest() -> None:
    found = measure(100, 1_800)
    assert dict.fromkeys(each.way for each in found) == dict.fromkeys(WAYS)
    for way in WAYS:
        own = [each for each in found if each.way == way]
        last = own[-1]
        assert (last.cycles >= 3, last.asked) == (True, 30), markdown(own)
        assert last.by_array / last.asked >= FLOORS[way], markdown(own)
        assert {question for each in own for question in each.missed} <= KNOWN_MISS, markdown(own)


def test_the_corpus_is_the_same_each_time_and_every_question_has_its_answer() -> None:
    said, asked = conversation(100)
    assert conversation(100) == (said, asked)
    assert all(each.answer in said[each.since].heard + said[each.since].reply for each in asked)
    assert len({each.question for each in asked}) == 30


def test_what_sums_up_sees_only_what_it_is_shown_and_keeps_within_its_limit() -> None:
    shown = "\n".join([*("It rains again today.",) * 9, "Mirela moved to Tampere.", *("We had some soup.",) * 9])
    assert "Tampere" in summed_up(shown, 12)
    assert len(summed_up(shown, 12)) < len("Mirela moved to Tampere.") + 30
