"""What tests of exports stand on: a memory that has rows in every table, and exports compared byte by byte."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from everloom.clock import ManualClock
from everloom.exports import write
from everloom.exports.shape import exported_tables
from everloom.imports import take_in
from everloom.kernel.journal import register
from everloom.loom import Loom, open_loom
from everloom.mind import IncomingFile, IncomingMessage
from everloom.sample import SAMPLE_NAME, make_sample
from everloom.settings import Settings
from everloom.store.address import sqlite_path
from tests.store.ground import as_superuser, is_sqlite

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MICROS = 1_700_000_000_000_000


def settings_of(url: str) -> Settings:
    """Settings that depend on no machine."""
    return Settings.model_validate({"store": {"url": url}, "workspace": {"time_zone": "UTC"}})


def open_there(url: str) -> Loom:
    """Open a store with such settings."""
    return open_loom(settings=settings_of(url), clock=ManualClock(NOW))


def make_full(url: str) -> None:
    """Make a store whose workspace `sample` has rows in every table that is exported."""
    make_sample(settings_of(url), NOW)
    with open_there(url) as loom:
        _live_on(loom)
        _write_by_hand(loom)


def _live_on(loom: Loom) -> None:
    """Use what the sample does not: tags, verdicts, pins, sessions that read and forget, a graph with a history."""
    place = loom.workspace(SAMPLE_NAME, session="a reader", origin="person")
    kept = place.semantic.remember(["boat", "Łódź"], "The boat is called Ōmi, “the sea”.", kind="fact")
    place.semantic.set_subject_tags("boat", ["ship", "wood"])
    place.semantic.add_alias("boat", "the old lady")
    place.semantic.mark_useful(kept.id)
    place.pin(kept.id)
    place.semantic.bring_to_mind("the boat")
    place.semantic.read_unseen(["boat"])
    place.episodic.get_context()
    gone = place.semantic.remember(["boat"], "The boat leaks at the third plank.")
    plan = place.forget([gone.id])
    place.forget([gone.id], confirm=plan.confirm)
    known = place.semantic.create_understanding(["boat"], "The boat is old and loved.", "old and loved")
    place.semantic.update_understanding(known.id, "The boat is old, loved and leaking.", "it leaks", reason="a leak")
    other = place.graphs.create("travels")
    assert other.keep_history() is None
    other.store(type="general", title="Lofoten", content="Islands, *cod*, and light.")
    (Path(other.opened.disk.root) / "photo.bin").write_bytes(bytes(range(256)))
    (Path(other.opened.disk.root) / "Harbour.md").write_text("Boats lie here, see [[Lofoten]].\n", encoding="utf-8")
    assert other.follow().added == 1
    photo = IncomingFile(name="mole.jpg", data=b"\xff\xd8\xff" + bytes(range(256)))
    place.mind.conversation.take(IncomingMessage(text="the mole", channel="terminal", attachments=(photo,)))
    with place.records("program").write() as writer:
        writer.put(("threads", "one"), "state", {"step": 3}, data=bytes(range(256)))
    with TemporaryDirectory() as folder:
        (Path(folder) / "log.md").write_text("# Log\n\nThe keel was laid in March.\n", encoding="utf-8")
        assert take_in(place, folder, kind="notes").taken


def _write_by_hand(loom: Loom) -> None:
    """Put a row into each table that only a model or a long life fills."""
    info = loom.workspaces.get(SAMPLE_NAME)
    with loom.store.write(info.id) as unit:
        empty = [name for name in exported_tables() if next(iter(unit.rows_of(name)), None) is None]
        (exchange,) = [row["id"] for row in unit.rows_of("exchange")][:1]
        (entry,) = [row["position"] for row in unit.rows_of("array_entry")][:1]
        (session,) = [row["id"] for row in unit.rows_of("session")][:1]
        understanding = next(iter(unit.rows_of("understanding")))["id"]
        observation = next(iter(unit.rows_of("observation")))["id"]
        fresh = {name: register(unit, name, NOW)[0] for name in ("compaction", "heartbeat", "job")}
        by_hand: dict[str, dict[str, Any]] = {
            "compaction": {
                "id": fresh["compaction"],
                "position": entry,
                "at": MICROS,
                "way": "model",
                "model": "scripted",
                "tokens_before": 900,
                "tokens_after": 90,
                "micro_dollars": 12,
            },
            "deed": {
                "id": unit.ids(1)[0],
                "tool": "append_note",
                "input_hash": "0" * 64,
                "input": '{"text": "Audrey sails."}',
                "messages": "[1]",
                "began_at": MICROS,
                "ended_at": None,
                "answer": "",
                "has_failed": 0,
            },
            "intention": {
                "id": observation,
                "state": "surfaced",
                "not_before": 0,
                "until": None,
                "surfaced_at": MICROS,
                "exchange_id": exchange,
            },
            "action": {
                "id": unit.ids(1)[0],
                "kind": "tool",
                "server": "boat",
                "tool": "sail",
                "input": '{"where": "Kiel"}',
                "question": "Action 1: the agent wants to use boat__sail",
                "state": "done",
                "is_asked": 1,
                "call_key": "deed 1",
                "channel": "terminal",
                "address": "",
                "asked_at": MICROS,
                "expires_at": MICROS,
                "decided_at": MICROS,
                "decided_by": "terminal",
                "began_at": MICROS,
                "ended_at": MICROS,
                "result": "Sailed to Kiel.",
            },
            "heartbeat": {
                "id": fresh["heartbeat"],
                "at": MICROS,
                "outcome": "sent",
                "reason": "it was quiet",
                "exchange_id": exchange,
            },
            "job": {
                "id": fresh["job"],
                "work": "sleep",
                "state": "done",
                "holder": "host:1:a",
                "held_until": 0,
                "stop_asked": 0,
                "started_at": MICROS,
                "changed_at": MICROS,
                "ended_at": MICROS,
                "changed": fresh["job"],
                "done": 3,
                "due": 3,
                "task": None,
                "report": "{}",
                "error": None,
            },
            "linked": {"understanding_id": understanding, "observation_id": observation},
            "reading": {"session_id": session, "subject_set": "1,2", "through_id": observation},
            "session_snapshot": {"session_label": "a reader", "content": "as it was", "changed_at": MICROS},
        }
        for table in empty:
            unit.put_rows(table, [{"workspace_id": info.id, **by_hand[table]}])
        unit.run("episodic.calibration_put", model="static", recall=0.5, cluster=0.4, detail="{}", at=MICROS)


def exported(loom: Loom, folder: Path, **wishes: Any) -> dict[str, Any]:
    """Export a store, and give its manifest without the one time in it."""
    write(loom, folder, **wishes)
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest.pop("exported_at")
    return manifest


def content_of(folder: Path) -> dict[str, bytes]:
    """Read every file of a folder, but for the manifest."""
    files = [each for each in folder.rglob("*") if each.is_file() and each.name != "manifest.json"]
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in files}


def change(url: str, statement: str) -> None:
    """Change a database past the program, as a broken disk would."""
    if is_sqlite(url):
        with closing(sqlite3.connect(sqlite_path(url))) as connection, connection:
            connection.execute(statement)
    else:
        with psycopg.connect(as_superuser(url), autocommit=True) as server:
            server.execute(statement.encode())
