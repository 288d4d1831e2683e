"""Secrets in texts: recognises keys, tokens, private keys, passwords and card numbers, and replaces them.

The patterns are data, in `secrets.toml`. Known to all layers and importing none of them, so that an error and a log are
read by the same eyes as what is stored. Refuses to know where a text comes from, and what is done about a secret.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import logging

_FEWEST_CARD_DIGITS = 14
# 4444 4444 4444 4448 has a right check digit, and is nobody's.
_FEWEST_KINDS = 2
# Numbers that follow each other this closely are ids.
_NEAR_IDS = 1000
_STRONG = frozenset("!@#$%^&*?+=~§")
# Bits a character: names and words stay below, random letters and digits above.
_RANDOM_BITS = 3.0
# The fewest characters and digits of the part of a key that is no word.
_RANDOM_LENGTH, _RANDOM_DIGITS = 8, 2
_FEWEST_PASSWORD_DIGITS, _BARE_PASSWORD, _MIXED_TURNS, _FEWEST_WORDS = 6, 8, 2, 4
# Every key is at least this long without a space, unless its pattern says that it is short.
_LONG_RUN = b"x" * 16
_KEY_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+=:~-"
_RUNS = bytes(120 if each in _KEY_BYTES else 32 for each in range(256))
_DIGITS = bytes(120 if each in b"0123456789" else 32 for each in range(256))
_CARD_RUN = b"x" * _FEWEST_CARD_DIGITS
# What says that a run is a key stands this close before it; what says that a value is none, this close to it.
_BEFORE_RUN, _AROUND, _LABEL = 100, 60, 30
# Characters that are not seen, and characters that look like one of ASCII.
_HIDDEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_SPACES = "\u00a0\u2000-\u200a\u202f\u205f\u3000"
_QUOTES = "“”„‟«»‹›「」『』＂"
_ODD = re.compile(f"[{_HIDDEN}{_SPACES}{_QUOTES}‘’‐-―−·\uff01-\uff5e]")
_UNSEEN = re.compile(f"[{_HIDDEN}]")
_UNSEEN_OR_SPACE = re.compile(f"[{_HIDDEN}{_SPACES}]")
_SPACE_IN_KEY = re.compile(f"[A-Za-z0-9_-]{{4}}[{_SPACES}][A-Za-z0-9_-]{{4}}")
_PLAIN: Mapping[int, str] = str.maketrans(
    {
        **dict.fromkeys(map(chr, (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)), " "),
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
        **dict.fromkeys(_QUOTES, '"'),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "·": ".",
    }
)
# Texts in which nothing was found, by hash: a text that a verb takes is stored as part of a document and read again.
_MOST_READ = 64
_read: dict[int, None] = {}


class SecretPattern(NamedTuple):
    """One kind of secret: how it is recognised, where its format is described, and an example that was made up."""

    name: str
    # Where it can be, which decides how it is looked for; and the texts of which one must be there.
    place: Literal["run", "before a run", "digits", "anywhere", "before a word"]
    needs: tuple[str, ...]
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
        return self.place in ("anywhere", "before a word")


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
def _data() -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  a help page needs no pattern
    from importlib.resources import files  # noqa: PLC0415

    return tomllib.loads((files("everloom") / "secrets.toml").read_text(encoding="utf-8"))


@cache
def patterns() -> tuple[SecretPattern, ...]:
    """Read the patterns, in the order in which they are tried."""
    return tuple(_pattern_from(each) for each in _data()["pattern"])


def _words_for(name: str) -> re.Pattern[str]:
    """Compile one of the expressions for words around and in place of a secret."""
    return _compiled(_data()["words"][name])


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _pattern_from(row: Mapping[str, Any]) -> SecretPattern:
    example, expression = str(row["example"]), str(row["pattern"])
    # A part may be made of those that stand below it.
    for name, part in _data()["parts"].items():
        expression = expression.replace(f"<{name}>", part)
    return SecretPattern(
        name=row["name"],
        place=row.get("place", "run"),
        needs=tuple(row.get("needs", ())),
        expression=expression,
        group="secret" if "(?P<secret>" in expression else 0,
        check=row.get("check", ""),
        is_likely=bool(row.get("likely")),
        source=row["source"],
        example=example if row.get("keeps_spaces") else example.replace(" ", ""),
    )


def spans_in(text: str, *, sure_only: bool = False) -> list[SecretSpan]:
    """Find the secrets in a text, in order; where two overlap, the one that begins first, then the longer one."""
    # A hash and not the text, which may have to be forgotten.
    if (read := hash(text)) in _read:
        return []
    if text.isascii() or not _ODD.search(text):
        spans = _plain_spans(text, sure_only)
    else:
        spans = _spans_without(text, _UNSEEN, sure_only)
        # A space that breaks no line may stand inside a key; elsewhere it is one between words.
        if _SPACE_IN_KEY.search(text):
            inner = _spans_without(text, _UNSEEN_OR_SPACE, sure_only=True)
            inner = [each for each in inner if all(each.end <= one.start or one.end <= each.start for one in spans)]
            spans = _apart([*spans, *inner])
    if not (spans or sure_only):
        if len(_read) >= _MOST_READ:
            _read.clear()
        _read[read] = None
    return spans


def _plain_spans(text: str, sure_only: bool) -> list[SecretSpan]:
    places = _places_in(text)
    return _apart(_candidates(places, sure_only)) if places is not None else []


def _spans_without(text: str, unseen: re.Pattern[str], sure_only: bool) -> list[SecretSpan]:
    """Find the secrets in a text without characters that are not seen, and say where they are in the whole text."""
    spans = _plain_spans(unseen.sub("", text).translate(_PLAIN), sure_only)
    if not (spans and unseen.search(text)):
        return spans
    kept = [at for at, char in enumerate(text) if not unseen.match(char)]
    return [each._replace(start=kept[each.start], end=kept[each.end - 1] + 1) for each in spans]


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

    `lower` has the same places as the text; `runs` are the stretches of characters that keys are made of, long enough
    for one.
    """

    text: str
    lower: str
    runs: tuple[tuple[int, int], ...]
    has_card: bool


@cache
def _short_needs() -> tuple[str, ...]:
    """Return of which texts one is around every short secret; one that contains another need not be looked for."""
    needs = {need for each in patterns() if each.is_short for need in each.needs}
    return tuple(sorted(each for each in needs if not any(other in each for other in needs - {each})))


def _places_in(text: str) -> _Places | None:
    """Find out whether any pattern is worth trying: the answer for nearly all texts is no, and must cost little."""
    # A few passes in C: a key is a long run of its characters, a card number has many digits, and the rest has a word
    # before it. An expression that looked for all of them would take ten times as long.
    raw = text.encode("latin-1", "replace")
    classes, lower = raw.translate(_RUNS), text.lower()
    if len(lower) != len(text):
        lower = "".join(char.lower()[:1] for char in text)
    has_runs = _LONG_RUN in classes
    has_card = _CARD_RUN in raw.translate(_DIGITS, b" -.")
    if not (has_runs or has_card or any(map(lower.__contains__, _short_needs()))):
        return None
    return _Places(text, lower, tuple(_runs_in(classes)) if has_runs else (), has_card)


def _runs_in(classes: bytes) -> Iterator[tuple[int, int]]:
    start = classes.find(_LONG_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        end = len(classes) if end < 0 else end
        yield start, end
        start = classes.find(_LONG_RUN, end)


def _candidates(places: _Places, sure_only: bool) -> Iterator[SecretSpan]:
    text = places.text
    # Far shorter than the text, so that looking for a hundred beginnings in it costs little.
    joined = " ".join(places.lower[start:end] for start, end in places.runs)
    for each in patterns():
        if sure_only and each.is_likely:
            continue
        for match in _matches(each, places, joined):
            (start, end), check = match.span(each.group), _CHECKS.get(each.check)
            before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
            if check is None or check(match.group(each.group), before, after):
                is_in_words = each.is_likely and not before.endswith(('"', "'", "`"))
                yield SecretSpan(each.name, start, end - _trailing(text[start:end]) if is_in_words else end)


def _matches(each: SecretPattern, places: _Places, joined: str) -> Iterator[re.Match[str]]:
    """Try a pattern where it can match at all."""
    if each.place == "anywhere":
        for at in _starts(each.needs, places.lower):
            if (match := each.pattern.match(places.text, at)) is not None:
                yield match
    else:
        for start, end in _windows(each, places, joined):
            yield from each.pattern.finditer(places.text, start, end)


def _windows(each: SecretPattern, places: _Places, joined: str) -> Iterator[tuple[int, int]]:
    """Say between which places a pattern has to be looked for."""
    match each.place:
        case "run" if any(map(joined.__contains__, each.needs)):
            yield from places.runs
        case "before a run":
            for start, end in places.runs:
                begin = max(0, start - _BEFORE_RUN)
                if any(map(places.lower[begin:end].__contains__, each.needs)):
                    yield begin, end
        case "before a word":
            begin = end = 0
            for at in sorted(_starts(each.needs, places.lower)):
                if at - _BEFORE_RUN > end:
                    yield begin, end
                    begin = at - _BEFORE_RUN
                end = at + _LABEL
            yield begin, end
        case "digits" if places.has_card:
            yield 0, len(places.text)


def _starts(needs: Iterable[str], text: str) -> Iterator[int]:
    for need in needs:
        at = text.find(need)
        while at >= 0:
            yield at
            at = text.find(need, at + 1)


def _trailing(value: str) -> int:
    """Count the characters at the end of a value that belong to the sentence around it."""
    return len(value) - len(value.rstrip(".?:…*"))


def _apart(found: Iterable[SecretSpan]) -> list[SecretSpan]:
    kept: list[SecretSpan] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _is_card(value: str, before: str, after: str) -> bool:
    """Check the issuer, the length and the check digit of a card number, and that it is not one of many numbers."""
    groups = re.findall("[0-9]+", value)
    number = "".join(groups)
    digits = [int(char) for char in number]
    if len(set(digits)) < _FEWEST_KINDS or not _words_for("issuer").fullmatch(number):
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    if (sum(digits[-1::-2]) + sum(doubled)) % 10:
        return False
    numbers = [int(each) for each in groups[:4]]
    is_sorted = numbers in (sorted(set(numbers)), sorted(set(numbers), reverse=True))
    is_list = is_sorted and len(groups) > 1 and max(numbers) - min(numbers) <= _NEAR_IDS
    if is_list or _words_for("more_digits").search(f"{before}\0{after}"):
        return False
    return _words_for("card").search(before) is not None or _words_for("numbered").search(before) is None


def _is_chosen(value: str, before: str = "", _after: str = "") -> bool:
    """Return whether a value is not merely a word that stands for one, nor the name of the user beside it."""
    if before.endswith(f"/{value}:"):
        return False
    return _words_for("placeholder").fullmatch(value) is None and not value.startswith(("$", "{", "%", "<", "["))


def _is_password(value: str, before: str, after: str) -> bool:
    """Return whether somebody may have chosen this as a password; ordinary words are not taken for one."""
    bare = value[: len(value) - _trailing(value)]
    if not _is_chosen(bare) or _words_for("no_password").fullmatch(bare) or _words_for("units").match(after):
        return False
    if bare.isdigit():
        return len(bare) >= _FEWEST_PASSWORD_DIGITS
    has_digit, has_letter = any(map(str.isdigit, bare)), any(map(str.isalpha, bare))
    return has_letter and (
        has_digit or not _STRONG.isdisjoint(bare) or _words_for("assigned").search(before) is not None
    )


def _is_bare_password(value: str, before: str, after: str) -> bool:
    """Return whether this is a password although nothing but the word stands before it."""
    bare = value[: len(value) - _trailing(value)]
    if not _is_password(bare, before, after) or bare.isdigit() or not any(map(str.isdigit, bare)):
        return False
    if _words_for("noun").search(before):
        return False
    if _words_for("becomes").search(before):
        if _words_for("changed").search(before + after):
            return True
    elif _words_for("login").search(before):
        return True
    is_strong = not _STRONG.isdisjoint(bare) or ("_" in bare and bare != bare.lower()) or _turns(bare) >= _MIXED_TURNS
    if is_strong := is_strong or _words_for("compound").fullmatch(bare) is not None:
        is_strong = _words_for("product").fullmatch(bare) is None
    return is_strong and len(bare) >= _BARE_PASSWORD and not _words_for("verb").search(before)


def _is_named(value: str, before: str, after: str) -> bool:
    """Return whether this is a password and the word stands after it, and not an example of a bad one."""
    is_one = _words_for("rule").search(value) is None if " " in value else _is_password(value, before, after)
    is_one = is_one and _words_for("product").fullmatch(value) is None
    return is_one and _words_for("advice").search(before) is None


def _is_words(value: str, before: str = "", _after: str = "") -> bool:
    """Return whether these are words that nobody says in a row, as far as one can see: enough, or with a number."""
    if _words_for("rule").search(value):
        return False
    fewest = _FEWEST_WORDS - (_words_for("phrase").search(before) is not None)
    return len(_words_for("content").findall(value)) >= fewest or any(map(str.isdigit, value))


def _is_opaque(value: str, _before: str = "", after: str = "") -> bool:
    """Return whether a value looks random: a key and not a name, a path or a word."""
    random = _without(value, "name")
    # What is called is a function.
    if after.startswith("("):
        return False
    return 2 * len(random) >= len(value) and _bits(value) >= _RANDOM_BITS and _is_mixed(random) and _is_chosen(value)


def _is_key(value: str, *_: str) -> bool:
    """Return whether something that begins as a key does is one: it has more than words and numbers."""
    return _is_mixed(_without(value, "word")) and _is_chosen(value)


def _is_mixed(random: str) -> bool:
    size, digits, capitals = len(random), sum(map(str.isdigit, random)), sum(map(str.isupper, random))
    return size >= _RANDOM_LENGTH and digits < size and (digits >= _RANDOM_DIGITS or 0 < capitals < size)


def _without(value: str, kind: str) -> str:
    parts = re.split("[^A-Za-z0-9]+", value)
    return "".join(each for each in parts if not _words_for(kind).fullmatch(each))


def _is_credential(value: str, *_: str) -> bool:
    """Return whether this is what an authorization header carries: a key, or a name and a password in base64."""
    if _is_opaque(value):
        return True
    try:
        name, colon, password = b64decode(value, validate=True).decode("utf-8").partition(":")
    except ValueError:
        return False
    return bool(name and colon and password) and name.isprintable() and _is_chosen(password)


def _is_block(value: str, *_: str) -> bool:
    """Return whether there is a line of a key after the mark, and not only words between two of them."""
    return re.search("[A-Za-z0-9+/]{16}", value) is not None


def _turns(value: str) -> int:
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))


def _bits(value: str) -> float:
    """Measure how evenly the characters of a text are distributed, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


# What a check is given: the value, and what stands before and after it.
_CHECKS: Mapping[str, Callable[[str, str, str], bool]] = {
    "card": _is_card,
    "chosen": _is_chosen,
    "password": _is_password,
    "bare password": _is_bare_password,
    "words": _is_words,
    "named": _is_named,
    "opaque": _is_opaque,
    "key": _is_key,
    "credential": _is_credential,
    "block": _is_block,
}
