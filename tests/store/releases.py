"""The next two releases of everloom, made from this one: the first expands the schema and fills, the second contracts.

Each is a source tree whose programs run in processes of their own, beside those of this tree.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.store.ground import ROOT

EXPAND, FILL, CONTRACT = 9001, 9002, 9003
NEXT: Mapping[str, str] = {
    f"{EXPAND}_mood.sql": """-- step: expand
ALTER TABLE document ADD COLUMN mood TEXT;
ALTER TABLE item ADD COLUMN weight BIGINT NOT NULL DEFAULT 1;
CREATE TABLE compass (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
    bearing BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, bearing)
);
CREATE INDEX document_by_mood ON document (workspace_id, mood);
""",
    f"{FILL}_mood_filled.sql": """-- step: fill
UPDATE document SET mood = 'calm' WHERE workspace_id = :workspace AND item_id IN (
    SELECT item_id FROM document WHERE workspace_id = :workspace AND mood IS NULL ORDER BY item_id LIMIT :limit
);
""",
}
AFTER: Mapping[str, str] = {
    **NEXT,
    f"{CONTRACT}_mood_needed.sql": f"""-- step: contract {EXPAND}
-- only: postgresql
ALTER TABLE document ALTER COLUMN mood SET DEFAULT 'calm';
ALTER TABLE document ALTER COLUMN mood SET NOT NULL;
-- end
ALTER TABLE item DROP COLUMN weight;
""",
}
STATEMENTS = """
-- name: mood_set
-- Say in which mood a document was written.
UPDATE document SET mood = :mood WHERE workspace_id = :workspace AND item_id = :id;

-- name: compass_add
-- Note a bearing.
INSERT INTO compass (workspace_id, bearing) VALUES (:workspace, :bearing);
"""


def release(folder: Path, steps: Mapping[str, str]) -> Path:
    """Make the source tree of a later release; what it does not change, it shares with this one."""
    here, there = ROOT / "src" / "everloom", folder / "everloom"
    _share(here, there, but="store")
    _share(here / "store", there / "store", but="migrations")
    shutil.copytree(here / "store" / "migrations", there / "store" / "migrations")
    for name, text in steps.items():
        (there / "store" / "migrations" / name).write_text(text)
    sql = there / "store" / "sql"
    sql.unlink()
    shutil.copytree(here / "store" / "sql", sql)
    with (sql / "kernel.sql").open("a") as file:
        file.write(STATEMENTS)
    return folder


def _share(here: Path, there: Path, *, but: str) -> None:
    there.mkdir(parents=True)
    for each in here.iterdir():
        if each.name != but:
            os.symlink(each, there / each.name)
