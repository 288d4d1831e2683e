"""The server engine: PostgreSQL with pgvector, for many servers and workers."""

from everloom.store.postgresql.store import PostgresStore

__all__ = ["PostgresStore"]
