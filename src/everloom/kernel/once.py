"""A request that happens once under its idempotency key although its write takes several steps.

A write of one transaction needs none of this: `Operation.write_once` does it. Where files change, too, the receipt is
kept in the transaction after which the write can no longer be lost; and where work is done step by step, each of which
may be done again, once all of it is done. Refuses to know what a request does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from everloom.errors import Conflict
from everloom.kernel.journal import answered_before, fingerprint, replace_receipt, used_before
from everloom.kernel.operation import Operation
from everloom.store import Unit

T = TypeVar("T")

_ANSWER, _CONFLICT, _BEGUN = "answer", "conflict", "begun"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is kept under a key, in a form that can itself be stored until the write is complete."""

    key: str
    # The operation, and the fingerprint of what was asked.
    request: tuple[str, str]
    kept: Mapping[str, Any]

    def keep(self, unit: Unit, at: datetime) -> None:
        """Store it, in place of what an earlier step of the same request has stored; Conflict if the key is taken."""
        if not replace_receipt(unit, self.key, self.request, self.kept, at):
            raise used_before(self.key)

    def keep_if_free(self, unit: Unit, at: datetime) -> None:
        """Store it for a write that can no longer be given up, unless another request has taken its key meanwhile."""
        replace_receipt(unit, self.key, self.request, self.kept, at)

    def completed(self, **fields: Any) -> Receipt:
        """Return it with fields of the answer that are known only now."""
        return replace(self, kept={_ANSWER: {**self.kept[_ANSWER], **fields}})

    def refused(self, conflict: Conflict) -> Receipt:
        """Return it as that of a request whose answer is a conflict; whoever repeats it is told the same."""
        told = {"message": conflict.message, "hint": conflict.hint, "current": conflict.current}
        return replace(self, kept={_CONFLICT: told})


@dataclass(frozen=True, slots=True)
class Once:
    """One request: the operation, the key if the caller gave one, and what was asked, by which it is known again."""

    operation: str
    key: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    def answered(self, op: Operation, shape: type[T]) -> T | None:
        """Return the answer that this request has received already; None if there is none yet."""
        known = self._known(op)
        return _answer_in(known, shape) if _ANSWER in known else None

    def was_begun(self, op: Operation) -> Any:
        """Return what an earlier attempt has left that did not come to its end; None if there was none."""
        return self._known(op).get(_BEGUN)

    def begin(self, op: Operation, mark: Any = True) -> None:
        """Leave a mark for whoever repeats the request, before something that cannot be undone."""
        if self.key is not None:
            self._store(op, Receipt(self.key, self._request, {_BEGUN: mark}))

    def receipt(self, answer: object) -> Receipt | None:
        """Make the receipt of an answer, to be stored with the write; None without a key."""
        if self.key is None:
            return None
        kept = {_ANSWER: _adapter(type(answer)).dump_python(answer, mode="json")}
        return Receipt(self.key, self._request, kept)

    def keep(self, unit: Unit, answer: object, at: datetime) -> None:
        """Store the answer in the transaction of the write."""
        receipt = self.receipt(answer)
        if receipt is not None:
            receipt.keep(unit, at)

    def settle(self, op: Operation, answer: T) -> T:
        """Store the answer by itself, where nothing was left to write or all of it is done; returns the answer."""
        receipt = self.receipt(answer)
        if receipt is not None:
            self._store(op, receipt)
        return answer

    def do(self, op: Operation, shape: type[T], act: Callable[[], T]) -> T:
        """Do work whose steps may be done again, unless it was done: then return the first answer."""
        op.must_write()
        if self.key is None:
            return act()
        # A client that lost its connection may ask again while the first attempt is still at work.
        with _turn(op.workspace.id, self.key):
            known = self._known(op)
            return _answer_in(known, shape) if _ANSWER in known else self.settle(op, act())

    @property
    def _request(self) -> tuple[str, str]:
        return self.operation, fingerprint(self.asked)

    def part(self, name: str) -> Once:
        """Return a step of this request, which happens once by itself."""
        if self.key is None:
            return self
        key = f"{name} {hashlib.sha256(self.key.encode()).hexdigest()}"
        return Once(f"{self.operation}.{name}", key, self.asked)

    def _known(self, op: Operation) -> Mapping[str, Any]:
        if self.key is None:
            return {}
        with op.read() as unit:
            known = answered_before(unit, self.key, self.operation, self.asked) or {}
        if _CONFLICT in known:
            raise Conflict(**known[_CONFLICT])
        return known

    def _store(self, op: Operation, receipt: Receipt) -> None:
        with op.write(self.operation) as writing:
            receipt.keep(writing.unit, writing.at)


# A request that happens as often as it is made.
UNKEYED = Once("")

_guard = Lock()
_turns: WeakValueDictionary[tuple[int, str], _Turn] = WeakValueDictionary()


class _Turn:
    """The right to do the work of a key in this process; it goes when nobody has it or waits for it."""

    def __init__(self) -> None:
        self.lock = Lock()


@contextmanager
def _turn(workspace: int, key: str) -> Iterator[None]:
    """Let equal requests of this process take turns."""
    with _guard:
        mine = _turns.get((workspace, key)) or _Turn()
        _turns[workspace, key] = mine
    with mine.lock:
        yield


def _answer_in(known: Mapping[str, Any], shape: type[T]) -> T:
    return cast("T", _adapter(shape).validate_python(known[_ANSWER]))


def _adapter(shape: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415  only requests with a key need it

    return TypeAdapter(shape)
