"""Tells whoever listens how far long work on many files has come. Light on purpose: every command listens.

Refuses to know what the work is, and how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# What is done, how many files are done, and how many there are.
FileProgress = Callable[[str, int, int], None]

_listener: ContextVar[FileProgress | None] = ContextVar("file_progress", default=None)


@contextmanager
def listening(listener: FileProgress) -> Iterator[None]:
    """Let somebody hear of the work on files in a block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(work: str, done: int, total: int) -> None:
    """Say how far a piece of work has come."""
    if (listener := _listener.get()) is not None:
        listener(work, done, total)
