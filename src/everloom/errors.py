"""The one tree of errors, named by what the caller can do, and the one table that maps it to each surface.

Knows nothing about engines, providers or surfaces: adapters raise these errors, surfaces look them up in `MEANING`.
An error of the operating system is named by its cause here, because every layer writes files. No error repeats a
secret.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class EverloomError(Exception):
    """Any error that everloom reports on purpose; `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        # An error travels: to terminals, clients, logs, and into the store as the reason of a failure. Whatever it
        # quotes, from a provider's reply to an address with a password, it must not carry a secret there.
        from everloom.secrets import masked  # noqa: PLC0415  a help page is no error

        self.message = masked(message)
        # Message and hint are kept apart, because each surface shows them in its own way.
        super().__init__(self.message)
        self.hint = None if hint is None else masked(hint)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class NotFound(EverloomError):
    """What you named does not exist here."""


class WorkspaceGone(NotFound):
    """The workspace was moved to another store, which the message names."""


class Conflict(EverloomError):
    """It exists, but not in the state you assumed; `current` shows its present state, if known."""

    def __init__(self, message: str, *, hint: str | None = None, current: object = None) -> None:
        super().__init__(message, hint=hint)
        self.current = current


class StoreConflict(Conflict):
    """A conflict about the store itself, which names places that are for its owner alone."""


class Rejected(EverloomError):
    """The request itself is wrong; retrying will not help."""


class Forbidden(EverloomError):
    """You are not allowed to do this."""


class StoreError(EverloomError):
    """The database or a file could not do it; `cause` is the reason without the place, which is for the owner alone."""

    cause: str | None = None


class StoreBusy(StoreError):
    """The database could not do it now; retry."""


class StoreFull(StoreError):
    """There is no space to write: the disk is full, or a quota is used up."""

    cause = "the disk is full"


class WorkspaceLeaving(StoreBusy):
    """The workspace is being moved to another store, and can only be read until it is there."""


class SchemaMismatch(StoreError):
    """The database has a different schema version than this program expects."""


class StoreReplaced(StoreError):
    """The database is no longer the one that this process opened; restart it."""


class ProviderError(EverloomError):
    """A model could not do it."""


class ProviderBusy(ProviderError):
    """A model could not do it now; retry after `retry_after` seconds."""

    def __init__(self, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ProviderRefused(ProviderError):
    """A model would not do it for this content."""


class ProviderDenied(ProviderRefused):
    """A provider does nothing for us now: the key, the balance, the budget or the model's name, and not the content."""


class MalformedReply(ProviderError):
    """A model answered, but not in the shape we asked for."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """How one error appears on each surface, and whether retrying can help."""

    exit_code: int
    http_status: int
    mcp_code: str
    retry: bool


# Exit code 2 is click's own for a wrong command line, so that a script sees no difference between its checks and ours;
# 3 lets a script tell "does not exist" from "failed". HTTP statuses blame whoever can act: 4xx the caller, 502 and 503
# what stands behind this server. A malformed reply is worth a retry because a model rarely fails twice in the same way.
MEANING: dict[type[EverloomError], Meaning] = {
    EverloomError: Meaning(1, 500, "failed", retry=False),
    NotFound: Meaning(3, 404, "not_found", retry=False),
    WorkspaceGone: Meaning(3, 410, "workspace_gone", retry=False),
    Conflict: Meaning(1, 409, "conflict", retry=False),
    StoreConflict: Meaning(1, 409, "store_conflict", retry=False),
    Rejected: Meaning(2, 422, "rejected", retry=False),
    Forbidden: Meaning(1, 403, "forbidden", retry=False),
    StoreError: Meaning(1, 500, "store_failed", retry=False),
    StoreBusy: Meaning(1, 503, "store_busy", retry=True),
    StoreFull: Meaning(1, 507, "store_full", retry=False),
    WorkspaceLeaving: Meaning(1, 503, "workspace_leaving", retry=True),
    SchemaMismatch: Meaning(1, 500, "schema_mismatch", retry=False),
    StoreReplaced: Meaning(1, 503, "store_replaced", retry=False),
    ProviderError: Meaning(1, 502, "provider_failed", retry=False),
    ProviderBusy: Meaning(1, 503, "provider_busy", retry=True),
    ProviderRefused: Meaning(1, 502, "provider_refused", retry=False),
    ProviderDenied: Meaning(1, 502, "provider_denied", retry=False),
    MalformedReply: Meaning(1, 502, "malformed_reply", retry=True),
}


def meaning_of(error: EverloomError) -> Meaning:
    """Look up an error by its nearest ancestor in the table."""
    return next(MEANING[kind] for kind in type(error).__mro__ if kind in MEANING)


_NO_PERMISSION = (StoreError, "permission denied", "make {} and its folder writable by this user")
# By the code of the operating system: the error, its cause, and what to do about it at a place.
_CAUSES: dict[int, tuple[type[StoreError], str, str]] = {
    errno.ENOSPC: (StoreFull, "the disk is full", "free space on the file system that holds {}"),
    errno.EDQUOT: (StoreFull, "the disk quota is used up", "free space, or have the quota raised for {}"),
    errno.EFBIG: (StoreFull, "the file would exceed the limit of its size", "raise the limit (`ulimit -f`) for {}"),
    errno.EROFS: (StoreError, "the file system is read-only", "mount it for writing, or choose another place than {}"),
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EMFILE: (StoreBusy, "this process has too many open files", "raise the limit (`ulimit -n`), then try again"),
    errno.ENFILE: (StoreBusy, "the system has too many open files", "close other programs, then try again"),
    errno.EIO: (StoreError, "the disk reports an I/O error", "check the disk, and restore a backup if {} is damaged"),
}


def file_error(error: OSError, action: str, place: object, *, after: str = "") -> StoreError:
    """Name the cause of a failed file operation and its remedy; `after` states what became of the operation."""
    fallback = (StoreError, error.strerror or str(error), "check {} and its permissions")
    kind, cause, hint = _CAUSES.get(error.errno or 0, fallback)
    advice = hint.format(place) + (f"; {after}" if after else "")
    made = kind(f"cannot {action} {place}: {cause}", hint=advice)
    made.cause = cause
    return made


def is_about_disk(error: OSError) -> bool:
    """Return whether the operating system refused for a reason that its user can remove."""
    return error.errno in _CAUSES


@contextmanager
def writing(place: object, *, after: str = "") -> Iterator[None]:
    """Name the cause if the block cannot write a file."""
    try:
        yield
    except OSError as error:
        raise file_error(error, "write", place, after=after) from error
