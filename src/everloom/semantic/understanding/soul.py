"""Signs that a soul is drifting: it turns into a list of rules, it mentions sessions, it keeps growing. Pure.

Whether a sign means anything is for the reader to judge; a hint never changes anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from everloom.semantic.parts import SoulHint

# Chosen so that the default soul raises no hint. A hint changes nothing, so one too many does less harm than one too
# few: a soul that drifts does so slowly, and every session reads it.
_RULE_SHARE = 0.4
_FEWEST_LINES = 5
_TACTICS = 2
_GROWTH = 1.5
_SMALLEST_GROWTH = 400
_LARGEST = 6_000

_LISTED = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_COMMAND = re.compile(
    r"^\W*(?:always|never|do not|don't|must|make sure|ensure|avoid|remember to|use|run|call|check)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SESSION = re.compile(
    r"\b(?:20\d\d-\d\d-\d\d|yesterday|today|last (?:session|time|week)|this session|in session|commit [0-9a-f]{7}"
    r"|(?:issue|ticket|PR) ?#?\d+)\b|[\w./-]+\.(?:py|js|ts|md|sql|toml|json)\b",
    re.IGNORECASE,
)


def soul_hints(versions: Sequence[str]) -> tuple[SoulHint, ...]:
    """Look for signs of drift in the newest of a workspace's souls; `versions` are oldest first."""
    if not versions:
        return ()
    hints = (
        SoulHint(sign="rules", message=_as_rules(versions[-1])),
        SoulHint(sign="tactics", message=_as_tactics(versions[-1])),
        SoulHint(sign="growth", message=_as_growth(versions)),
    )
    return tuple(hint for hint in hints if hint.message)


def _as_rules(text: str) -> str:
    """Check whether much of the text is commands or list items."""
    lines = [line for line in _SENTENCE.split(text) if line.strip()]
    rules = [line for line in lines if _LISTED.match(line) or _COMMAND.match(line)]
    if len(lines) < _FEWEST_LINES or len(rules) < _RULE_SHARE * len(lines):
        return ""
    return f"{len(rules)} of {len(lines)} statements are rules; norms belong in the protocol"


def _as_tactics(text: str) -> str:
    """Check whether the text mentions particular sessions."""
    found = list(dict.fromkeys(match[0] for match in _SESSION.finditer(text)))
    if len(found) < _TACTICS:
        return ""
    return f"it mentions occasions ({', '.join(found[:5])}); they belong in observations or in the orientation"


def _as_growth(versions: Sequence[str]) -> str:
    """Check whether the text has grown much since the first version, or is simply long."""
    first, last = len(versions[0]), len(versions[-1])
    grew = len(versions) > 1 and last > _GROWTH * first and last - first > _SMALLEST_GROWTH
    if not grew and last <= _LARGEST:
        return ""
    return f"it has {last:,} characters and began with {first:,}; shorten it"
