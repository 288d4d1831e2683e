"""Business or Private without a model: a scene goes to the root whose typical sentences it resembles more.

The sentences come with the program in several languages, or from the settings, and are embedded by the same embedder as
the scenes. A scene is compared with those of its own language, because an embedder sorts by language first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from itertools import chain

from everloom.episodic.being import EpisodicPolicy
from everloom.episodic.patrol.steps import PatrolRun
from everloom.episodic.scenes.geometry import Floats, mean_of
from everloom.kernel.texts import language_of

_ANY = ""
_Sides = tuple[tuple[str, ...], tuple[str, ...]]
# By model and sentences, for all workspaces of a process: the vectors of the same sentences by the same model are the
# same, and a slow embedder takes seconds for them.
_MOST_KEPT = 64
_leanings: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Floats] = {}


def resembling_private(run: PatrolRun, texts: Mapping[int, str], vectors: Mapping[int, Floats]) -> set[int]:
    """Find the scenes that resemble the sentences of Private more than those of Business; none without vectors."""
    sentences = _sentences_of(run.being.policy)
    spoken: dict[str, list[int]] = {}
    for item in texts:
        if item in vectors:
            code: str = language_of(texts[item])
            spoken.setdefault(code if code in sentences else _ANY, []).append(item)
    private: set[int] = set()
    for code, items in spoken.items():
        leaning = _leaning(run, sentences[code])
        if leaning is None:
            return set()
        private |= {item for item in items if float(vectors[item] @ leaning) > 0}
    return private


def _leaning(run: PatrolRun, sentences: _Sides) -> Floats | None:
    """Compute the direction from Business to Private; None if the embedder is not available."""
    business, private = sentences
    known = (run.op.embedding.preferred, business, private)
    if known not in _leanings:
        made = run.embed([*business, *private])
        if made is None:
            return None
        rows = made.rows["general"]
        while len(_leanings) >= _MOST_KEPT:
            _leanings.pop(next(iter(_leanings)), None)
        _leanings[known] = mean_of(rows[len(business) :]) - mean_of(rows[: len(business)])
    return _leanings[known]


def _sentences_of(policy: EpisodicPolicy) -> dict[str, _Sides]:
    """Read the sentences of Business and Private by language; those of the settings count in any."""
    if policy.business_prototypes and policy.private_prototypes:
        return {_ANY: (policy.business_prototypes, policy.private_prototypes)}
    return shipped_prototypes()


@cache
def shipped_prototypes() -> dict[str, _Sides]:
    """Read the sentences that come with the program, by language; those of all languages together have no name."""
    text = (resources.files("everloom.episodic") / "prototypes.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)
    business, private = known["Business"], known["Private"]
    every: _Sides = (tuple(chain(*business.values())), tuple(chain(*private.values())))
    return {code: (tuple(business[code]), tuple(private[code])) for code in business} | {_ANY: every}
