"""Translation of PostgreSQL's errors into ours, each with advice on what to do.

Knows psycopg's exceptions and nothing else about the program.
"""

from __future__ import annotations

import psycopg
from psycopg import errors

from everloom.errors import Conflict, StoreBusy, StoreConflict, StoreError, StoreFull

# Temporary, although the connection is healthy; all are kinds of OperationalError, like a lost connection.
_RETRY = (
    errors.LockNotAvailable,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.QueryCanceled,
    errors.TooManyConnections,
)
# What does not pass by itself: what went wrong, and what to do.
_LASTING: tuple[tuple[tuple[type[psycopg.Error], ...], str, str], ...] = (
    (
        (errors.DiskFull,),
        ": the server's disk is full",
        "free space on the file system of the server's data; nothing that was stored is lost",
    ),
    (
        (errors.OutOfMemory,),
        ": the server is out of memory",
        "give the server more memory, or lower its work_mem and max_connections; nothing was written",
    ),
    (
        (errors.IoError,),
        ": the server's disk reports an I/O error",
        "check the disk of the server and its log; nothing was written",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        " is read-only: it is a replica, or open only for reading",
        "write to the primary server; reading works here",
    ),
    (
        (errors.InsufficientPrivilege,),
        ": {}",
        "grant the role this privilege, or connect as the schema's owner",
    ),
    (
        (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName),
        ": a pooler between here and the server mixes up prepared statements ({})",
        "set store.prepared_statements to false, or have the pooler handle them; nothing was written",
    ),
)
# Kinds of OperationalError that leave the connection healthy, and that no retry mends.
_OF_THE_SERVER = (errors.DiskFull, errors.OutOfMemory, errors.IoError)
# A failed connection has no SQLSTATE, only a text.
_CONNECTING = (
    ("password authentication failed", "the password is wrong", "correct it in the URL or in PGPASSWORD"),
    ("no password supplied", "a password is needed", "put it into the URL or into PGPASSWORD"),
    ("does not exist", "the database or the role does not exist", "create it with createdb or createuser"),
    ("no pg_hba.conf entry", "the server does not accept this user from this host", "add a line to its pg_hba.conf"),
)


# What PgBouncer says in the one mode in which nothing can be written completely or not at all.
_STATEMENT_MODE = "statement pooling mode"


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection itself is lost."""
    if _STATEMENT_MODE in str(error):
        return False
    return isinstance(error, psycopg.OperationalError) and not isinstance(error, (*_RETRY, *_OF_THE_SERVER))


def translate_error(error: psycopg.Error, address: str) -> StoreError | Conflict:
    """Turn a driver error into one of ours, with advice on what to do next."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, psycopg.IntegrityError):
        return StoreConflict(f"{address} refused a row: {text}")
    if _STATEMENT_MODE in text:
        hint = "set its pool_mode to transaction or session; nothing was written"
        return StoreError(f"{address}: the pooler between here and the server allows no transactions", hint=hint)
    for kinds, fault, hint in _LASTING:
        if isinstance(error, kinds):
            kind = StoreFull if isinstance(error, errors.DiskFull) else StoreError
            return kind(f"{address}{fault.format(text)}", hint=hint)
    if isinstance(error, _RETRY) or is_lost(error):
        return StoreBusy(f"{address}: {text}", hint="try again; an idempotency key makes that safe for writes")
    return StoreError(f"{address}: {text}")


def explain_refusal(error: psycopg.OperationalError, address: str) -> StoreError:
    """Explain why a connection failed: a permanent mistake, or a server that cannot be reached now."""
    text = str(error)
    for sign, fault, hint in _CONNECTING:
        if sign in text:
            return StoreError(f"{address}: {fault}", hint=hint)
    reason = text.strip().splitlines()[-1] if text.strip() else "no answer"
    return StoreBusy(
        f"{address} cannot be reached: {reason}", hint="check that the server is running and the address is right"
    )
