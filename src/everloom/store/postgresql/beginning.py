"""How a unit of work begins and ends on the server: its settings, the write lock, and the numbers that it gives.

Owns the text of the one round trip that begins a unit, and of the one that ends it. Knows nothing about connections.
"""

from __future__ import annotations

import secrets

from everloom.store.contract import Numbers
from everloom.store.statements import statements

# The workspace of units that concern the store itself.
NOWHERE = 0
# Ids of workspaces are a random number of the store, followed by a count: in order here, and given by no other store.
# Together they stay below 2⁵³, up to which every reader of JSON is exact.
_STORE_BITS, _COUNT_BITS = 33, 20

_SQL = statements("postgresql")
# Which life of the store this is, and how the workspace stands. Reading it also takes a lock until the end of the unit,
# for which a restore and a migration wait, so that neither happens in the middle of one.
_LIFE = _SQL["kernel.life"].replace("%(workspace)s", "{workspace}")
# A transaction in which the client does nothing for so long is ended by the server, and its locks with it: the client
# is frozen or gone without a farewell.
_IDLE = "SET LOCAL idle_in_transaction_session_timeout = '120s'; "
# Everything in one round trip, and nothing for longer than the transaction: behind a pooler, the next one may be on
# another connection. With an iterative scan, an approximate index goes on until the page is full, however
# many rows a filter removes; it may return them slightly out of order, and `nearest_first` sorts them.
_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL everloom.workspace = '{workspace}'; "
    "SET LOCAL statement_timeout = '{longest}ms'; SET LOCAL lock_timeout = '{patience}ms'; " + _IDLE + ""
    "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 100; " + _LIFE
)
# The numbers and the state of the workspace are read once the lock is held: whoever held it before may have changed
# them. All of it counts as one wait, because a row is waited for in more than one step, each with a time limit of its
# own.
_LOCK = (
    "SET LOCAL statement_timeout = '{patience}ms'; {first}"
    + "; ".join(
        _SQL[f"kernel.{name}"].replace("%(workspace)s", "{workspace}") for name in ("lock_take", "numbers_read")
    )
    + "; "
    + _LIFE
    + "; SET LOCAL statement_timeout = '{longest}ms'"
)
_WRITE = (
    "BEGIN; SET LOCAL everloom.workspace = '{workspace}'; SET LOCAL lock_timeout = '{patience}ms'; " + _IDLE + "{haste}"
)
# The table that a restore and a migration lock before any other comes first here, too: two who take locks in different
# orders can wait for each other for ever.
_IDENTITY = _SQL["kernel.store_identity"] + "; "
_ADD = _SQL["kernel.lock_add"].replace("%(workspace)s", "{workspace}") + "; "
# What a power failure may undo.
_HASTE = "SET LOCAL synchronous_commit = off; "
_SAVE = _SQL["kernel.numbers_save"]
for _name in ("workspace", "item", "revision"):
    _SAVE = _SAVE.replace(f"%({_name})s", f"{{{_name}}}")


def begin_reading(workspace: int, *, longest: float, patience: float) -> str:
    """Write the statements that begin a unit which sees a snapshot of the database."""
    return _READ.format(workspace=int(workspace), longest=_millis(longest), patience=_millis(patience))


def begin_writing(workspace: int, *, longest: float, patience: float, is_durable: bool) -> str:
    """Write the statements that begin a unit which writes, once it holds the lock."""
    begin = _WRITE.format(workspace=int(workspace), patience=_millis(patience), haste="" if is_durable else _HASTE)
    return begin + _lock(workspace, longest, patience, _IDENTITY)


def begin_first(workspace: int, *, longest: float, patience: float) -> str:
    """Write the statements with which the first writer of a workspace makes its lock, and takes it."""
    return _lock(workspace, longest, patience, _ADD.format(workspace=int(workspace)))


def _lock(workspace: int, longest: float, patience: float, first: str) -> str:
    return _LOCK.format(workspace=int(workspace), longest=_millis(longest), patience=_millis(patience), first=first)


def _millis(seconds: float) -> int:
    # No limit at all is what 0 would mean to the server.
    return max(1, round(seconds * 1000))


class Numbering:
    """The numbers that a writing unit gives, from memory: it holds the write lock."""

    def __init__(self, workspace: int, last: Numbers) -> None:
        self._workspace = workspace
        self._saved = self.last = last

    def ids(self, count: int) -> range:
        """Take fresh ids."""
        self.last = self.last._replace(item=self.last.item + count)
        return range(self.last.item - count + 1, self.last.item + 1)

    def revisions(self, count: int) -> range:
        """Take fresh revisions."""
        self.last = self.last._replace(revision=self.last.revision + count)
        return range(self.last.revision - count + 1, self.last.revision + 1)

    def advance(self, last: Numbers) -> None:
        """Give only numbers above these."""
        self.last = Numbers(max(self.last.item, last.item), max(self.last.revision, last.revision))

    def saving(self) -> list[str]:
        """Write the statement that saves them: a unit that gave no number saves none."""
        if self.last == self._saved:
            return []
        return [_SAVE.format(workspace=self._workspace, **self.last._asdict())]


def first_numbers(workspace: int, above: int) -> Numbers:
    """Choose where a workspace begins to count, or the store to number workspaces."""
    item = above if workspace != NOWHERE else secrets.randbits(_STORE_BITS) << _COUNT_BITS
    return Numbers(item, 0)
