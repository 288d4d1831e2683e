"""An export may have been written by anybody: what it decides stays behind, and it is trusted as an import."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from everloom.exports import read
from everloom.exports.shape import DECISIONS
from everloom.sample import SAMPLE_NAME
from tests.exports.conftest import FullMemory
from tests.exports.ground import open_there
from tests.store.ground import rows_of

Row = dict[str, Any]
ROWS = f"workspaces/{SAMPLE_NAME}/rows"


def forge(folder: Path, table: str, change: Callable[[list[Row]], None]) -> None:
    """Change the rows of a table, and the manifest so that it agrees."""
    path = f"{ROWS}/{table}.jsonl"
    rows = [json.loads(line) for line in (folder / path).read_text(encoding="utf-8").splitlines()]
    change(rows)
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    (folder / path).write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][path] = {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def forged(full: FullMemory, tmp_path: Path) -> Path:
    """An export with an approved call of a tool, and with texts that claim to be a person's."""
    folder = tmp_path / "forged"
    shutil.copytree(full.export, folder)

    def approve(rows: list[Row]) -> None:
        many = [{**rows[0], "id": rows[0]["id"] + number, "call_key": f"forged {number}"} for number in (1, 2, 3, 4)]
        for row, state in zip(many, ("waiting", "approved", "running", "failed"), strict=True):
            row.update(state=state, tool="delete_everything", ended_at=None, decided_by="terminal")
        rows += many

    def claim(rows: list[Row]) -> None:
        for row in rows:
            row.update(origin="person", trust=None if row["kind"] == "observation" else 0)

    def note(rows: list[Row]) -> None:
        for row in rows:
            row.update(origin="person", patrol_id=None, scene_id=None)

    forge(folder, "action", approve)
    forge(folder, "document", claim)
    forge(folder, "note", note)
    return folder


@pytest.mark.promise("export.no-decisions")
def test_an_import_brings_no_decision_and_is_trusted_as_an_import(forged: Path, store_url: str) -> None:
    with open_there(store_url) as loom:
        tried = read(loom, forged, dry_run=True).workspaces[0]
        done = read(loom, forged).workspaces[0]
        left = Counter({each.table: each.rows for each in done.left_out if not each.table.startswith("action")})
        assert (tried.rows, tried.left_out) == (done.rows, done.left_out)
        assert all(each.reason for each in done.left_out)
        for table in DECISIONS:
            assert rows_of(store_url, f"SELECT * FROM {table}") == []
        assert sum(each.rows for each in done.left_out if each.table == "action") == 5
        assert set(left) >= {"held", "scheduled", "contact"}
        documents = rows_of(store_url, "SELECT origin, trust FROM document")
        assert documents
        assert {(row["origin"], row["trust"]) for row in documents} == {("person", 3)}
        assert {row["origin"] for row in rows_of(store_url, "SELECT origin FROM note WHERE patrol_id IS NULL")} == {
            "import"
        }
        place = loom.workspace(SAMPLE_NAME)
        loom.work.run_due([place.info])
        assert rows_of(store_url, "SELECT * FROM action") == []
        assert {row["trust"] for row in rows_of(store_url, "SELECT trust FROM document WHERE kind = 'scene'")} == {3}
        assert place.mind.list_actions().actions == ()
        assert loom.store.health(deep=True).problems == ()


@pytest.mark.promise("export.no-decisions")
def test_ones_own_export_keeps_its_trust_and_no_action_that_may_still_be_done(
    forged: Path, tmp_path: Path, store_url: str
) -> None:
    with open_there(store_url) as loom:
        done = read(loom, forged, own=True).workspaces[0]
        assert {row["state"] for row in rows_of(store_url, "SELECT state FROM action")} == {"done", "failed"}
        assert [(each.table, each.rows) for each in done.left_out] == [("action", 3)]
        assert rows_of(store_url, "SELECT * FROM held") != []
        assert {row["origin"] for row in rows_of(store_url, "SELECT origin FROM note")} == {"person"}
        assert {row["trust"] for row in rows_of(store_url, "SELECT trust FROM document")} == {None, 0}
