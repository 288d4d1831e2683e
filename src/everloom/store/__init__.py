"""The database: one contract, two engines, one schema.

Owns connections, transactions, SQL text, migrations, the word index and the vectors. Refuses to know what an
observation or a scene is: a faculty names a statement and passes values to it.
"""

from __future__ import annotations

from everloom.store.address import open_store, redact
from everloom.store.contract import Params, Reach, Row, Store, Unit, VectorHit
from everloom.store.engine import columns_of, value_from

__all__ = ["Params", "Reach", "Row", "Store", "Unit", "VectorHit", "columns_of", "open_store", "redact", "value_from"]
