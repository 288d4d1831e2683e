"""How a unit of work begins and ends on the server: its settings, the write lock, and the numbers that it gives.

Owns the text of the one round trip that begins a unit, and of the one that ends it. Knows nothing about connections.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from everloom.store.contract import Numbers
from everloom.store.postgresql.nearness import EF_SEARCH
from everloom.store.statements import statements

# The workspace of units that concern the store itself.
NOWHERE = 0
# Ids of workspaces are a random number of the store, followed by a count: in order here, and given by no other store.
# Together they stay below 2⁵³, up to which every reader of JSON is exact.
_STORE_BITS, _COUNT_BITS = 33, 20

_SQL = statements("postgresql")
_NUMBERS = ("workspace", "item", "revision")


def _template(name: str) -> str:
    """Read a named statement as a text into which numbers are written; only numbers ever are."""
    text = _SQL[name]
    for each in _NUMBERS:
        text = text.replace(f"%({each})s", f"{{{each}}}")
    return text


# Everything in one round trip, and nothing for longer than the transaction: behind a pooler, the next one may be on
# another connection. Reading `life` also takes a lock until the end of the unit, for which a restore and a migration
# wait, so that neither happens in the middle of one.
_WORKSPACE = "SET LOCAL everloom.workspace = '{workspace}'"
# A transaction in which the client does nothing for so long is ended by the server, and its locks with it: the client
# is frozen or gone without a farewell.
_IDLE = "SET LOCAL idle_in_transaction_session_timeout = '120s'"
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# With an iterative scan, an approximate index goes on until the page is full, however many rows a filter removes; it
# may return them slightly out of order, and `nearest_first` sorts them.
_READ = (
    _WORKSPACE,
    "SET LOCAL statement_timeout = '{longest}ms'",
    "SET LOCAL lock_timeout = '{patience}ms'",
    _IDLE,
    "SET LOCAL hnsw.iterative_scan = relaxed_order",
    f"SET LOCAL hnsw.ef_search = {EF_SEARCH}",
    _template("kernel.life"),
)
# The table that a restore and a migration lock before any other comes first here, too: two who take locks in different
# orders can wait for each other for ever.
_WRITE = (_WORKSPACE, "SET LOCAL lock_timeout = '{patience}ms'", _IDLE, _SQL["kernel.store_identity"])
# The numbers and the state of the workspace are read once the lock is held: whoever held it before may have changed
# them. All of it counts as one wait, because a row is waited for in more than one step, each with a time limit of its
# own.
_LOCK = (
    _template("kernel.lock_take"),
    _template("kernel.numbers_read"),
    _template("kernel.life"),
    "SET LOCAL statement_timeout = '{longest}ms'",
)
_PATIENCE = "SET LOCAL statement_timeout = '{patience}ms'"
# What a power failure may undo.
_HASTE = "SET LOCAL synchronous_commit = off"
# Without it, the nodes of a cluster do not learn in which workspace a transaction is.
_SPREAD = "SET LOCAL citus.propagate_set_commands = 'local'"
_SAVE = _template("kernel.numbers_save")


@dataclass(frozen=True, slots=True)
class UnitLimits:
    """How many seconds a unit waits for others, and how long one of its statements may take."""

    waiting: float
    longest: float

    def written(self, workspace: int, texts: Iterable[str]) -> list[str]:
        """Write the limits and the workspace into statements."""
        # No limit at all is what 0 would mean to the server.
        waiting, longest = (max(1, round(seconds * 1000)) for seconds in (self.waiting, self.longest))
        return [text.format(workspace=int(workspace), patience=waiting, longest=longest) for text in texts]


def begin_reading(workspace: int, patience: UnitLimits, *, may_rest: bool = False) -> list[str]:
    """Write the statements that begin a unit which sees a snapshot of the database; `may_rest` for however long."""
    settings = [text for text in _READ if not (may_rest and text == _IDLE)]
    return [_READING, *patience.written(workspace, settings)]


# Settings and the state of the workspace as one statement that stays prepared: most units read, and are short.
_SETTINGS = {
    "everloom.workspace": "%(workspace)s::bigint::text",
    "statement_timeout": "%(longest)s",
    "lock_timeout": "%(patience)s",
    "idle_in_transaction_session_timeout": "'120s'",
    "hnsw.iterative_scan": "'relaxed_order'",
    "hnsw.ef_search": f"'{EF_SEARCH}'",
}
_AT_ONCE = "SELECT life.*, {settings} FROM ({life}) AS life"
_SHORT = _AT_ONCE.format(
    settings=", ".join(f"set_config('{name}', {value}, true)" for name, value in _SETTINGS.items()),
    life=_SQL["kernel.life"].rstrip("; \n"),
)


def begin_shortly(workspace: int, limits: UnitLimits) -> list[tuple[str, dict[str, int | str] | None]]:
    """Write the same for a server that is no cluster, as statements with their values; the first only begins."""
    times = {"longest": f"{limits.longest * 1000:.0f}ms", "patience": f"{limits.waiting * 1000:.0f}ms"}
    return [(_READING, None), (_SHORT, {"workspace": workspace, **times})]


def enter_workspace(workspace: int) -> str:
    """Write the statement with which a transaction goes on in another workspace."""
    return _WORKSPACE.format(workspace=int(workspace))


def begin_writing(workspace: int, patience: UnitLimits, *, is_durable: bool) -> list[str]:
    """Write the statements that begin a unit which writes, once it holds the lock."""
    haste = () if is_durable else (_HASTE,)
    return ["BEGIN", *patience.written(workspace, (*haste, _PATIENCE, *_WRITE, *_LOCK))]


def begin_first(workspace: int, patience: UnitLimits) -> list[str]:
    """Write the statements with which the first writer of a workspace makes its lock, and takes it."""
    return patience.written(workspace, (_PATIENCE, _template("kernel.lock_add"), *_LOCK))


def spread(begin: Sequence[str]) -> list[str]:
    """Let the nodes of a cluster share the settings of a transaction."""
    return [begin[0], _SPREAD, *begin[1:]] if begin[0].startswith("BEGIN") else list(begin)


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
