"""The screen that everything written passes: decides what is done about a secret, and says so without repeating it.

A verb that writes is screened once, with all its arguments, before it does anything: what is derived from them (words,
vectors, hashes, events, receipts) then never held the secret. What does not come through a verb (a message, a file that
a person edited, a document that is imported) is screened where it enters. Pure; how a secret is recognised is in
`everloom.secrets`.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, Literal, TypeVar, cast

from everloom.errors import Forbidden, Rejected
from everloom.kernel.trust.noticed import listener
from everloom.secrets import Recognised, masked, replace_spans, spans_in

OnSecret = Literal["warn", "redact", "refuse"]
AnyMethod = TypeVar("AnyMethod", bound=Callable[..., Any])
T = TypeVar("T")

_DEEPEST = 50
_NAMED_BY_KEY = 1_000
# A redacted key would be the same key for every secret, and hand out another request's answer.
_NEVER_REDACTED = "idempotency_key"


class SecretWarning(UserWarning):
    """Something that was written holds a secret; told to Python callers that do not use `noticing`."""


def tell(found: Sequence[Recognised], done: str) -> None:
    """Tell whoever notices in this block which secrets were recognised; without one, warn the Python caller."""
    collected = listener()
    if collected is not None:
        collected += [each for each in found if each not in collected]
        return
    warnings.warn(f"recognised and {done}: {', '.join(map(str, found))}", SecretWarning, stacklevel=6)


@dataclass(frozen=True, slots=True)
class Screen:
    """What is done about secrets in what is written."""

    on_secret: OnSecret = "redact"

    def stored(self, value: T) -> T:
        """Return what is stored of a document: most come through a verb, which has said what there was to say."""
        return value if self.on_secret == "warn" else cast("T", _walked(value, "", []))

    def kept(self, value: T, place: str) -> T:
        """Return what is kept of something that cannot be refused: it was said, or stands in a file, already."""
        found: list[Recognised] = []
        kept = _walked(value, place, found)
        # Without a listener nothing is said: the mark stands where the secret stood, for everybody who reads it.
        if found and listener() is not None:
            self._tell(found)
        return value if self.on_secret == "warn" else cast("T", kept)

    def arguments(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Screen the arguments of a verb by name; raises if secrets are refused."""
        found: list[Recognised] = []
        kept = {name: _walked(value, name, found) for name, value in given.items()}
        if not found:
            return given
        if self.on_secret == "refuse" or any(each.place == _NEVER_REDACTED for each in found):
            named = ", ".join(dict.fromkeys(map(str, found)))
            hint = "leave it out and say where it is kept; `review.secrets` decides whether secrets are refused"
            raise Rejected(f"this holds a secret ({named})", hint=hint)
        self._tell(found)
        return given if self.on_secret == "warn" else kept

    def _tell(self, found: Sequence[Recognised]) -> None:
        tell(found, "stored as it is" if self.on_secret == "warn" else "replaced by a mark")


def label_of(session: str | None) -> str | None:
    """Return the label under which a session is stored: never a secret, whatever a client sends as one."""
    return None if session is None else masked(session, sure_only=True)


def screened(method: AnyMethod) -> AnyMethod:
    """Screen the arguments of a faculty's method before it is called."""

    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        given = {**dict(zip(_names_of(method), args, strict=False)), **named}
        # A call with too many arguments is left to Python, which names the mistake.
        if len(given) < len(args) + len(named):
            return method(self, *args, **named)
        if self.op.is_held and "origin" not in _names_of(method):
            hint = "store it with a verb that takes an origin, or let a person do it; `review.hold` says what waits"
            raise Forbidden(f"what comes from {self.op.origin} waits for review, and this cannot wait", hint=hint)
        return method(self, **self.op.screen.arguments(given))

    return cast("AnyMethod", call)


@cache
def _names_of(method: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(method).parameters)[1:]


def _walked(value: Any, place: str, found: list[Recognised]) -> Any:
    """Replace the secrets in a value; one without any is returned as it is, not copied."""
    # First, because most values are texts or nothing, and asking what others can do costs more.
    if value is None or isinstance(value, str):
        return _redacted(value, place, found) if value else value
    # Whoever reads a value that is nested as deeply as this refuses it.
    if place.count(".") > _DEEPEST:
        return value
    match value:
        case Mapping():
            # The key says what a value is: {"password": "…"}.
            inner = {
                key: _redacted(each, f"{place}.{key}", found, f"{key}: ")
                if isinstance(each, str)
                else _walked(each, f"{place}.{key}", found)
                for key, each in value.items()
            }
            return value if all(inner[key] is each for key, each in value.items()) else inner
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview | range):
            listed = [_walked(each, f"{place}.{at}", found) for at, each in enumerate(value)]
            return value if all(map(_is_same, listed, value)) else tuple(listed) if isinstance(value, tuple) else listed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        changed = {
            name: kept for name, each in fields.items() if (kept := _walked(each, f"{place}.{name}", found)) is not each
        }
        return dataclasses.replace(value, **changed) if changed else value
    return value


def _redacted(text: str, place: str, found: list[Recognised], before: str = "") -> str:
    spans = spans_in(text)
    if not (spans or before):
        return text
    if before and not spans:
        # Only the beginning of a value can be a secret because of its key.
        size, own = len(before), spans_in(before + text[:_NAMED_BY_KEY])
        spans = [each._replace(start=each.start - size, end=each.end - size) for each in own if each.start >= size]
    found += [Recognised(span.kind, place) for span in spans]
    return replace_spans(text, spans) if spans else text


def _is_same(one: object, other: object) -> bool:
    return one is other
