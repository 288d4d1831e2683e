"""Judging the hits of a search: how likely each text answers the question, and whether this memory knows the answer.

Pure, apart from reading `judge.toml`, whose weights `everloom calibrate --train` learns from stories that were asked
what they answer, what they do not answer, and what others were asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from everloom.kernel.search.fusion import Claims, Column
from everloom.kernel.search.judging.attributes import asked_attributes, told_attributes
from everloom.kernel.search.languages import NUMBERS, QUANTITIES

# A text fits from the first probability on, if by its words and cosine the memory knows it with the second one. That
# holds for a memory of so many documents; the fewer there are, the fewer bear on a question by chance.
ANSWERS, KNOWN, _LEAST_KNOWN = 0.22, 0.55, 0.12
_MANY = math.log(300)
# With these log-odds by words and cosine a text fits, however many others are found as well.
_CLEAR = 1.0
# A text comes to mind at a topic if its cosine is so many spreads above that of unrelated texts, or if it holds so
# much of the topic's words.
NEAR, SHARED = 1.0, 0.5
# A text that says nothing of these answers no question for them, whomever it is about.
NEEDED = frozenset(
    "age birthday blood colour diet email height name partner password phone price salary size version weight".split()
)
# A longer text holds some of the words of every question.
_LONG = math.log(20)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# Beyond these log-odds nothing changes.
_SURE = 30.0
_ANY = "any"

# Of each piece of evidence, what it says in log-odds; what is left out says nothing.
Weights = Mapping[str, float]


class Learned(NamedTuple):
    """What was learned about answers and about memories that know one."""

    answers: Weights
    known: Weights


class Wanted(NamedTuple):
    """What a text has to tell to answer a question."""

    attributes: frozenset[str]
    is_number: bool


def learned_for(model: str, script: str) -> Learned:
    """Return what was learned for an embedder and a script; what holds for any where they have no row of their own."""
    table = _table()
    row = table.get(f"{model} {script}") or table.get(model) or table[_ANY]
    return Learned(row["answers"], row["known"])


def evidence(strengths: Column, bearing: Column, unnamed: Column, lengths: Column, documents: int) -> dict[str, Column]:
    """Collect what is known of each candidate before its text is read.

    `strengths` is what the ranking found, `bearing` the log-odds by words and cosine alone; `unnamed` is the share of
    the question's names that neither the text nor its labels hold.
    """
    every = np.ones_like(strengths)
    return {
        "strength": strengths,
        "unnamed": unnamed,
        "bearing": bearing,
        "documents": every * math.log(max(1, documents)),
        "length": np.maximum(0.0, np.log(np.maximum(1.0, lengths)) - _LONG),
    }


def weighed(weights: Weights, pieces: Mapping[str, Column | float]) -> Column:
    """Add up the log-odds of what is known; what is not known yet counts as harmless."""
    odds = sum((weights[name] * value for name, value in pieces.items() if name in weights), np.float64(0.0))
    total: Column = np.clip(odds + weights.get("always", 0.0), -_SURE, _SURE)
    return total


def likely(odds: Column) -> Column:
    """Turn log-odds into probabilities."""
    probability: Column = 1.0 / (1.0 + np.exp(-odds))
    return probability


def fitting(answers: Column, bearing: Column, known: Column, documents: int) -> Claims:
    """Mark what may be given as an answer, if its text tells what is asked for."""
    enough = max(_LEAST_KNOWN, KNOWN * min(1.0, math.log(max(1, documents)) / _MANY))
    fits: Claims = ((answers >= ANSWERS) | (bearing >= _CLEAR)) & (known >= enough)
    return fits


def wanted(question: str) -> Wanted:
    """Read off a question what its answer has to tell."""
    return Wanted(asked_attributes(question) & NEEDED, QUANTITIES.search(question) is not None)


def told(asked: Wanted, text: str) -> dict[str, float]:
    """Check whether a text tells what is asked for."""
    tells = bool(asked.attributes) and not asked.attributes.isdisjoint(told_attributes(text))
    counts = not asked.is_number or _counts(text)
    return {
        "told": float(tells),
        "untold": float(bool(asked.attributes) and not tells),
        "uncounted": float(not counts),
    }


def _counts(text: str) -> bool:
    """Return whether a text tells a number; a year tells when, and not how many."""
    return any(map(str.isdigit, _YEAR.sub("", text))) or NUMBERS.search(text) is not None


@cache
def _table() -> Mapping[str, Mapping[str, Weights]]:
    import tomllib  # noqa: PLC0415  a help page judges nothing

    return tomllib.loads((files("everloom.kernel.search.judging") / "judge.toml").read_text(encoding="utf-8"))
