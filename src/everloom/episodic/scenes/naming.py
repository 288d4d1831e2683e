"""Names of clusters that no model named: the rarest words that several of their scenes share.

Pure. Scripts without spaces have no words to cut out: there, runs of one script are
taken for words: 決済サーバー is two.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from everloom.kernel.texts import name_key, spellings, stem

_IN_A_NAME = 3
# A word that two of a dozen scenes share says nothing about the others.
_SHARED_BY = 0.2
_LEAST = 2
# Whoever is in every other scene of a memory says nothing about some of them.
_TELLING = 2.0
# A run of Han or of katakana; hiragana is mostly grammar.
# A single Han character before hiragana that is no particle is the stem of a verb, which is unreadable alone.
_HAN = r"[\u3005\u3400-\u4dbf\u4e00-\u9fff]"
_RUN = re.compile(
    rf"{_HAN}{{2,}}|{_HAN}(?![\u3041-\u309f])|{_HAN}(?=[がをにのはとでもへや])|[\u30a1-\u30fa\u30fc]{{2,}}"
)
# Frequent in scenes of any kind, and no stop words of a search.
_NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred first second
    third half zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert erste erster ersten zweite dritte
    halbe""".split()
)
_IGNORED = re.compile(r"\A\d+\Z|[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_APOSTROPHE = re.compile("['\u2019]")
# A longer run of Han is a clause, and its pairs of characters are nearer to words.
_LONGEST_RUN = 4


def words_in(texts: Iterable[str]) -> dict[str, str]:
    """Map each word of a scene's texts to its spelling."""
    found: dict[str, str] = {}
    for text in texts:
        for word, spelling in spellings(text).items():
            if len(word) > 1 and spelling.casefold() not in _NUMBERS and not _IGNORED.search(word):
                # One stem for all languages: somebody's name is the same word in each.
                plain = max(_APOSTROPHE.split(spelling), key=len)
                found.setdefault(stem(plain.casefold()), plain)
        for run in _RUN.findall(text):
            parts = [run] if len(run) <= _LONGEST_RUN else [run[at : at + 2] for at in range(len(run) - 1)]
            found |= {part: part for part in parts}
    return found


class ClusterNames:
    """Gives names to groups of scenes, none of them twice; `languages` has the language of each scene."""

    def __init__(self, words: Sequence[Mapping[str, str]], languages: Sequence[str], taken: Iterable[str]) -> None:
        self._words = words
        self._languages = languages
        self._taken = {name_key(name) for name in taken}

    def name(self, group: Collection[int], otherwise: str) -> str:
        """Name a group by its rarest shared words, or, if it shares none, by what is given."""
        words = self._ranked(group)
        choices = [", ".join(words[:count]) for count in range(min(len(words), _IN_A_NAME), len(words) + 1) if count]
        choices += [otherwise, *(f"{otherwise} ({number})" for number in range(2, len(self._taken) + 3))]
        chosen = next(choice for choice in choices if name_key(choice) not in self._taken)
        self._taken.add(name_key(chosen))
        return chosen

    def _ranked(self, group: Collection[int]) -> list[str]:
        """List the words that enough of the scenes share, the most telling first, as they are spelled most often."""
        here = Counter(word for place in group for word in self._words[place])
        least = max(_LEAST, math.ceil(_SHARED_BY * len(group)))
        # How much more frequent a word is here than wherever the same languages are spoken.
        spoken = {self._languages[place] for place in group}
        around = [words for words, each in zip(self._words, self._languages, strict=True) if each in spoken]
        found = Counter(word for words in around for word in words)
        often = {
            word: (count / len(group)) / (found[word] / len(around)) for word, count in here.items() if count >= least
        }
        telling = {word: here[word] * math.log(lift) for word, lift in often.items() if lift >= _TELLING}
        ranked = sorted(telling, key=lambda word: (-telling[word], word))
        spelled: dict[str, str] = {}
        for word in ranked:
            seen = Counter(self._words[place][word] for place in sorted(group) if word in self._words[place])
            (spelling, _), *_ = seen.most_common(1)
            # One word in two languages, or two forms of it.
            spelled.setdefault(name_key(spelling), spelling)
        return list(spelled.values())
