"""How well a ranking answers, and how well it tells the known from the unknown. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

DEPTHS = (5, 10, 20)
# Sessions that a reader would open.
_SESSIONS = 5
# The share of questions that must still be answered when the threshold for silence is chosen.
_ANSWERED = 0.95


def ranks_of(ranked: Sequence[str], evidence: Collection[str]) -> list[int]:
    """List the ranks at which evidence stands."""
    return [rank for rank, turn in enumerate(ranked, 1) if turn in evidence]


def ranking_quality(ranks: Sequence[int], wanted: int, depths: Sequence[int] = DEPTHS) -> dict[str, float]:
    """Score one ranking by the ranks at which the wanted things were found."""
    found = {f"recall@{depth}": sum(rank <= depth for rank in ranks) / wanted for depth in depths}
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)
    # The best possible ranking has everything on top; of more than ten wanted things only ten can count.
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(wanted, 10) + 1))
    # One hit may hold several wanted phrases, and is then better than the best ranking of one thing per hit.
    return {**found, "mrr": 1 / min(ranks) if ranks else 0.0, "ndcg@10": min(1.0, gain / ideal)}


def session_quality(
    ranked: Sequence[str], evidence: Collection[str], session_of: Mapping[str, int]
) -> dict[str, float]:
    """Score one ranking by the sessions of its turns: is any, and are all, with evidence among the first five?"""
    found = dict.fromkeys(session_of[turn] for turn in ranked if turn in session_of)
    first, wanted = set(list(found)[:_SESSIONS]), {session_of[turn] for turn in evidence}
    return {f"session_any@{_SESSIONS}": float(bool(first & wanted)), f"session_all@{_SESSIONS}": float(wanted <= first)}


@dataclass(frozen=True, slots=True)
class Separation:
    """How well the strength of the best evidence tells questions with an answer from those without.

    `silent_at_95` is the share of the latter that is met with silence at the threshold where 95 % of the former are
    answered; `silent_at_floor` and `answered_at_floor` are the shares at the threshold that is built in, if there is
    one.
    """

    questions: int
    auroc: float
    silent_at_95: float
    silent_at_floor: float | None
    answered_at_floor: float | None


@dataclass(slots=True)
class Verdicts:
    """What a system made of some questions: the strength of its best evidence, and whether it would answer."""

    strengths: list[float] = field(default_factory=list)
    fits: list[bool] = field(default_factory=list)

    def add(self, strength: float, fits: bool | None) -> None:
        """Record one question; `fits` is None for a system that never stays silent."""
        self.strengths.append(strength)
        self.fits += [] if fits is None else [fits]

    def separation(self, unknown: Verdicts) -> Separation | None:
        """Compare with questions that have no answer; None if either side is empty."""
        if not (self.strengths and unknown.strengths):
            return None
        own, other = np.array(self.strengths), np.array(unknown.strengths)
        above = np.mean(own[:, None] > other) + np.mean(own[:, None] == other) / 2
        # The strongest threshold that at most one question in twenty misses.
        threshold = np.sort(own)[math.floor(len(own) * (1 - _ANSWERED) + 1e-9)]
        return Separation(
            questions=len(other),
            auroc=round(float(above), 4),
            silent_at_95=round(float(np.mean(other < threshold)), 4),
            silent_at_floor=share_of([not each for each in unknown.fits]),
            answered_at_floor=share_of(self.fits),
        )


def share_of(claims: Sequence[bool]) -> float | None:
    """Return the share of claims that are true; None without any."""
    return sum(claims) / len(claims) if claims else None
