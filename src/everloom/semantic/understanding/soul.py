"""Signs that a soul drifts: it became a list of rules, it quotes sessions, it only grows. Pure.

Whether a sign means something is for the reader to judge; a hint never changes anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from everloom.semantic.parts import SoulHint

# Chosen so that the default soul raises no hint. A hint changes nothing, so it may come rather early than late.
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
    """Read the souls of a workspace, oldest first, and say what looks like drift in the newest."""
    if not versions:
        return ()
    hints = (
        SoulHint(sign="rules", message=_as_rules(versions[-1])),
        SoulHint(sign="tactics", message=_as_tactics(versions[-1])),
        SoulHint(sign="growth", message=_as_growth(versions)),
    )
    return tuple(hint for hint in hints if hint.message)


def _as_rules(text: str) -> str:
    """See whether most of the text is commands or list items."""
    lines = [line for line in _SENTENCE.split(text) if line.strip()]
    rules = [line for line in lines if _LISTED.match(line) or _COMMAND.match(line)]
    if len(lines) < _FEWEST_LINES or len(rules) < _RULE_SHARE * len(lines):
        return ""
    return f"{len(rules)} of {len(lines)} statements are rules; norms belong in the protocol"


def _as_tactics(text: str) -> str:
    """See whether the text quotes particular sessions."""
    found = list(dict.fromkeys(match[0] for match in _SESSION.finditer(text)))
    if len(found) < _TACTICS:
        return ""
    return f"it speaks of occasions ({', '.join(found[:5])}); they belong in observations or in the orientation"


def _as_growth(versions: Sequence[str]) -> str:
    """See whether the text has grown much since it began, or is simply long."""
    first, last = len(versions[0]), len(versions[-1])
    grew = len(versions) > 1 and last > _GROWTH * first and last - first > _SMALLEST_GROWTH
    if not grew and last <= _LARGEST:
        return ""
    return f"it has {last:,} characters and began with {first:,}; say more by saying less"
