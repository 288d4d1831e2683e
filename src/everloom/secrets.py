"""Secrets in texts: recognises keys, tokens, private keys, passwords and card numbers, and replaces them.

The patterns are data, in `secrets.toml`. Known to all layers and importing none of them, so that an error and a log are
read by the same eyes as what is stored. Refuses to know where a text comes from, and what is done about a secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import logging

# Values that stand where a secret would: in examples, templates and documentation.
_PLACEHOLDER = (
    r"(?i)\W*(?:(?:my|your|the|new|old|some|user|db|pass|password|passwd|pwd|secret|token|key|example|changeme|change|me"
    r"|here|placeholder|redacted|none|null|true|false|required|string|str|test|todo|secure|strong|hash|hashed)"
    r"[\W_]*){1,8}[0-9]{0,3}\W*|[x*.•…_#-]+"
)
_ISSUERS = r"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|[68])|6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])|62"
_CARD_DIGITS = (13, 19)
# 4444 4444 4444 4448 has a right check digit, and is nobody's.
_FEWEST_KINDS = 3
_STRONG = frozenset("!@#$%^&*?+=~§")
# Bits a character: names and words stay below, random letters and digits above.
_RANDOM_BITS = 3.2
# Of a random text without digits more is asked, because an identifier has as many different letters.
_LONG_AND_MIXED = (32, 4.0)
_FEWEST_DIGITS = 2
# Every key is at least this long without a space, unless its pattern says that it is short.
_LONG_RUN = b"x" * 20
_KEY_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+=:~-"
_RUNS = bytes(120 if each in _KEY_BYTES else 32 for each in range(256))
_NO_DIGITS = bytes(each for each in range(256) if each not in b"0123456789")
_DIGITS = bytes(120 if each in b"0123456789" else 32 for each in range(256))
_CARD_RUN = b"x" * _CARD_DIGITS[0]
# What says that a run is a key stands this close before it.
_BEFORE_RUN = 60


class SecretPattern(NamedTuple):
    """One kind of secret: how it is recognised, where its format is described, and an example that was made up."""

    name: str
    # Where it can be, which decides how it is looked for; and the texts of which one must be there.
    place: Literal["run", "before a run", "digits", "anywhere"]
    needs: tuple[str, ...]
    bytes: tuple[bytes, ...]
    expression: str
    group: str | int
    check: str
    is_likely: bool
    source: str
    example: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a text first gives reason to try it."""
        return _compiled(self.expression)

    @property
    def is_short(self) -> bool:
        """Whether it may be shorter than a run."""
        return self.place == "anywhere"


class SecretSpan(NamedTuple):
    """Where a text holds a secret, and of which kind."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Recognised:
    """A secret that was recognised: its kind and its place, never its value."""

    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.place}"


@cache
def patterns() -> tuple[SecretPattern, ...]:
    """Read the patterns, in the order in which they are tried."""
    import tomllib  # noqa: PLC0415  a help page needs no pattern
    from importlib.resources import files  # noqa: PLC0415

    text = (files("everloom") / "secrets.toml").read_text(encoding="utf-8")
    return tuple(_pattern_from(each) for each in tomllib.loads(text)["pattern"])


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _pattern_from(row: Mapping[str, Any]) -> SecretPattern:
    example, expression, needs = str(row["example"]), str(row["pattern"]), tuple(row.get("needs", ()))
    return SecretPattern(
        name=row["name"],
        place=row.get("place", "run"),
        needs=needs,
        bytes=tuple(each.encode() for each in needs if each.isascii()),
        expression=expression,
        group="secret" if "(?P<secret>" in expression else 0,
        check=row.get("check", ""),
        is_likely=bool(row.get("likely")),
        source=row["source"],
        example=example if row.get("keeps_spaces") else example.replace(" ", ""),
    )


def spans_in(text: str, *, sure_only: bool = False) -> list[SecretSpan]:
    """Find the secrets in a text, in order; where two overlap, the one that begins first, then the longer one."""
    places = _places_in(text)
    return _apart(_candidates(places, sure_only)) if places is not None else []


def masked(text: str, *, sure_only: bool = False) -> str:
    """Replace every secret in a text by a mark that says what it was."""
    spans = spans_in(text, sure_only=sure_only)
    return replace_spans(text, spans) if spans else text


def replace_spans(text: str, spans: Sequence[SecretSpan]) -> str:
    """Replace parts of a text by marks that say what they were."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], f"[redacted: {span.kind}]"]
        at = span.end
    return "".join([*parts, text[at:]])


def logger_of(name: str) -> logging.Logger:
    """Return a logger whose records hold no secret, whichever handler writes them."""
    import logging  # noqa: PLC0415  a help page needs no log

    log = logging.getLogger(name)
    if _mask_record not in log.filters:
        log.addFilter(_mask_record)
    return log


def _mask_record(record: logging.LogRecord) -> bool:
    """Mask what a record says, its traceback included, and let it pass."""
    record.msg, record.args = masked(record.getMessage()), ()
    if record.exc_info and record.exc_info[0] is not None:
        from traceback import format_exception  # noqa: PLC0415  loaded once something went wrong

        # A formatter writes the text that is here instead of formatting the exception itself.
        record.exc_text = masked("".join(format_exception(*record.exc_info)).rstrip("\n"))
    return True


class _Places(NamedTuple):
    """A text and where something in it may be a secret.

    `lower` has one byte for each character, so that places in it are places in the text; `runs` are the stretches of
    characters that keys are made of, long enough for one.
    """

    text: str
    lower: bytes
    runs: tuple[tuple[int, int], ...]
    has_card: bool

    @property
    def joined(self) -> bytes:
        """The runs alone: far shorter than the text, so that looking for a hundred beginnings in them costs little."""
        return b" ".join(self.lower[start:end] for start, end in self.runs)


@cache
def _words() -> tuple[tuple[bytes, ...], tuple[str, ...]]:
    """Return what a short secret needs to have around it: in any text, and in one that is not plain ASCII."""
    needs = {need for each in patterns() if each.is_short for need in each.needs}
    plain = sorted(each for each in needs if each.isascii())
    return tuple(each.encode() for each in plain), tuple(sorted(needs.difference(plain)))


def _places_in(text: str) -> _Places | None:
    """Find out whether any pattern is worth trying: the answer for nearly all texts is no, and must cost little."""
    # A few passes in C: a key is a long run of its characters, a card number has many digits, and the rest has a word
    # before it. An expression that looked for all of them would take ten times as long.
    raw = text.encode("latin-1", "replace")
    classes = raw.translate(_RUNS)
    has_runs = _LONG_RUN in classes
    has_card = _CARD_RUN in raw.translate(_DIGITS, b" -")
    if not (has_runs or has_card or _has_word(text, raw.lower())):
        return None
    return _Places(text, raw.lower(), tuple(_runs_in(classes)) if has_runs else (), has_card)


def _has_word(text: str, lower: bytes) -> bool:
    plain, foreign = _words()
    for need in plain:
        if need in lower:
            return True
    return not text.isascii() and any(need in text.lower() for need in foreign)


def _runs_in(classes: bytes) -> Iterator[tuple[int, int]]:
    start = classes.find(_LONG_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        end = len(classes) if end < 0 else end
        yield start, end
        start = classes.find(_LONG_RUN, end)


def _candidates(places: _Places, sure_only: bool) -> Iterator[SecretSpan]:
    joined = places.joined
    for each in patterns():
        if sure_only and each.is_likely:
            continue
        for match in _matches(each, places, joined):
            value = match.group(each.group)
            if each.check not in _CHECKS or _CHECKS[each.check](value):
                start, end = match.span(each.group)
                yield SecretSpan(each.name, start, end - _trailing(value) if each.check == "password" else end)


def _matches(each: SecretPattern, places: _Places, joined: bytes) -> Iterator[re.Match[str]]:
    """Try a pattern where it can match at all."""
    match each.place:
        case "run":
            if any(need in joined for need in each.bytes):
                yield from each.pattern.finditer(places.text)
        case "before a run":
            yield from _before_runs(each, places)
        case "digits":
            if places.has_card:
                yield from each.pattern.finditer(places.text)
        case "anywhere":
            yield from _where_it_begins(each, places)


def _where_it_begins(each: SecretPattern, places: _Places) -> Iterator[re.Match[str]]:
    text = places.text
    for need in each.bytes:
        at = places.lower.find(need)
        while at >= 0:
            if (match := each.pattern.match(text, at)) is not None:
                yield match
            at = places.lower.find(need, at + 1)
    # Only words of other scripts are not in the bytes.
    if not text.isascii() and any(need in text.lower() for need in each.needs if not need.isascii()):
        yield from each.pattern.finditer(text)


def _before_runs(each: SecretPattern, places: _Places) -> Iterator[re.Match[str]]:
    for start, end in places.runs:
        begin, run = max(0, start - _BEFORE_RUN), places.lower[start:end]
        if len(run.translate(None, _NO_DIGITS)) < _FEWEST_DIGITS and len(run) < _LONG_AND_MIXED[0]:
            continue
        near = places.lower[begin:end]
        if any(need in near for need in each.bytes):
            yield from each.pattern.finditer(places.text, begin, end)


def _trailing(value: str) -> int:
    """Count the characters at the end of a value that belong to the sentence around it."""
    return len(value) - len(value.rstrip(".!?:"))


def _apart(found: Iterator[SecretSpan]) -> list[SecretSpan]:
    kept: list[SecretSpan] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _is_card(value: str) -> bool:
    """Check the length, the issuer and the check digit of a card number."""
    number = "".join(char for char in value if char.isdigit())
    digits = [int(char) for char in number]
    least, most = _CARD_DIGITS
    if not (least <= len(digits) <= most and len(set(digits)) >= _FEWEST_KINDS and re.match(_ISSUERS, number)):
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_chosen(value: str) -> bool:
    """Return whether a value is not merely a word that stands for one."""
    return re.fullmatch(_PLACEHOLDER, value) is None and not value.startswith(("$", "{", "%", "<", "["))


def _is_password(value: str) -> bool:
    """Return whether somebody may have chosen this as a password; ordinary words are not taken for one."""
    bare = value.rstrip(".!?:")
    has_digit, has_letter = any(map(str.isdigit, bare)), any(map(str.isalpha, bare))
    return _is_chosen(bare) and has_letter and (has_digit or not _STRONG.isdisjoint(bare)) and "://" not in bare


def _is_opaque(value: str) -> bool:
    """Return whether a value looks random: a key and not a name, a path or a word."""
    if not _is_chosen(value) or _bits(value) < _RANDOM_BITS or not any(map(str.isalpha, value)):
        return False
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    if sum(map(str.isdigit, value)) >= _FEWEST_DIGITS and turns >= _FEWEST_DIGITS:
        return True
    length, bits = _LONG_AND_MIXED
    return len(value) >= length and _bits(value) >= bits and value.lower() != value and "_" not in value


def _bits(value: str) -> float:
    """Measure how evenly the characters of a text are distributed, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "luhn": _is_card,
    "chosen": _is_chosen,
    "password": _is_password,
    "opaque": _is_opaque,
}
