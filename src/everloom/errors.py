"""The one tree of errors, named by what the caller can do, and the one table that maps it to each surface.

Knows nothing about engines, providers or surfaces: adapters raise these errors, surfaces look them up in `MEANING`.
No error repeats a secret.
"""

from __future__ import annotations

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
    """The database could not do it."""


class StoreBusy(StoreError):
    """The database could not do it now; retry."""


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
