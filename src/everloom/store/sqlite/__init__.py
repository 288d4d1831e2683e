"""The embedded engine: one file, write-ahead log, several processes at once."""

from everloom.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
