"""Who is told of the secrets that verbs recognise. Light on purpose: every command listens, also those that only help.

Refuses to know what a secret is, and what is done about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.secrets import Recognised

_noticed: ContextVar[list[Recognised] | None] = ContextVar("noticed", default=None)


@contextmanager
def noticing() -> Iterator[list[Recognised]]:
    """Collect the secrets that verbs recognise in a block, for the answer of a surface."""
    found: list[Recognised] = []
    token = _noticed.set(found)
    try:
        yield found
    finally:
        _noticed.reset(token)


def listener() -> list[Recognised] | None:
    """Return where the secrets of the present call are collected; None if nobody listens."""
    return _noticed.get()
