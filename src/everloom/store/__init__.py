"""The database: one contract, two engines, one schema.

Owns connections, transactions, SQL text, migrations, the word index and the vectors. Refuses to know what an
observation or a scene is: a faculty names a statement and passes values to it.
"""

from __future__ import annotations

from everloom.store.address import as_url, open_store, redact, sqlite_url, without_secrets
from everloom.store.contract import (
    Ids,
    Lookup,
    Params,
    Reach,
    Row,
    Scrubbed,
    Store,
    StoreAnswer,
    Unit,
    VectorHit,
    look_up,
)
from everloom.store.engine import columns_of, value_from

__all__ = [
    "Ids",
    "Lookup",
    "Params",
    "Reach",
    "Row",
    "Scrubbed",
    "Store",
    "StoreAnswer",
    "Unit",
    "VectorHit",
    "as_url",
    "columns_of",
    "look_up",
    "open_store",
    "redact",
    "sqlite_url",
    "value_from",
    "without_secrets",
]
