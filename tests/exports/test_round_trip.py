"""What was exported comes back as it was, on any engine, and a changed byte does not."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Conflict, EverloomError, Forbidden, NotFound
from everloom.exports import is_export, read, write
from everloom.exports.shape import IDS, LEFT_OUT, exported_columns, exported_tables
from everloom.kernel.tokens import Tokens
from everloom.kernel.trust.screen import SecretWarning
from everloom.loom import open_loom
from everloom.sample import SAMPLE_NAME
from everloom.settings import Settings
from everloom.store.migrations import columns_of_table, key_of, tables
from tests.exports.conftest import Ends, FullMemory
from tests.exports.ground import change, content_of, exported, open_there
from tests.store.ground import asking, rows_of

TABLES = {**tables("sqlite"), **tables("postgresql")}


def test_every_table_is_exported_or_said_to_be_left_out() -> None:
    # A new table belongs into one of the two, and into docs/export.md.
    assert set(exported_tables()) | set(LEFT_OUT) == set(TABLES)
    assert set(exported_tables()).isdisjoint(LEFT_OUT)
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    assert [name for name in TABLES if f"`{name}`" not in page] == []
    assert {"item", *IDS} <= set(exported_tables())


def test_columns_and_keys_are_those_of_the_database(store_url: str) -> None:
    is_sqlite = store_url.startswith("sqlite")
    with asking(store_url) as ask:
        for table in tables("sqlite" if is_sqlite else "postgresql"):
            if is_sqlite:
                found = ask(f"SELECT name, pk FROM pragma_table_info('{table}')")
                key = [row["name"] for row in sorted(found, key=lambda row: row["pk"]) if row["pk"]]
            else:
                found = ask(
                    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = ? "
                    "AND table_schema = 'public' ORDER BY ordinal_position",
                    table,
                )
                key = [*key_of(table)]
            # Each engine counts and lists words in its own way, which does not travel.
            own = {"tally": {"counted_through"}, "term": {"through", "postings"}}.get(table, set())
            # On PostgreSQL alone, every workspace counts for itself.
            known = [
                name for name in columns_of_table(table) if name not in own and not (is_sqlite and name == "ids_above")
            ]
            assert [row["name"] for row in found if row["name"] not in own] == known, table
            assert key == [*key_of(table)], table


@pytest.mark.promise("export.comes-back-the-same")
def test_an_export_is_the_same_after_every_import(full: FullMemory, tmp_path: Path, ends: Ends) -> None:
    with full.open() as loom:
        first = exported(loom, tmp_path / "first")
        assert {name for name, count in first["workspaces"][0]["rows"].items() if count} == set(exported_tables())
        whole = exported(loom, tmp_path / "first-whole", vectors=True, with_secrets=True)
    before, before_whole = content_of(tmp_path / "first"), content_of(tmp_path / "first-whole")
    with open_there(ends.there) as loom:
        read(loom, tmp_path / "first", own=True)
        assert exported(loom, tmp_path / "second") == first
        assert content_of(tmp_path / "second") == before
    with open_there(ends.here) as loom:
        # In a store that has used the same ids.
        for number in range(50):
            loom.workspace("before").semantic.remember(["A"], f"A was here {number} times.")
        read(loom, tmp_path / "first-whole", own=True)
        assert loom.store.health(deep=True).problems == ()
        # A backup is one SQLite file, in which the word index of all workspaces is one.
        loom.store.backup(tmp_path / "backup.db")
        loom.remove_workspace("before")
        assert exported(loom, tmp_path / "third", vectors=True, with_secrets=True) == whole
        assert content_of(tmp_path / "third") == before_whole
        assert loom.store.health(deep=True).problems == ()
        write(loom, tmp_path / "fourth")
    with open_there(f"sqlite:///{tmp_path}/backup.db") as loom:
        assert loom.store.health(deep=True).problems == ()
    with open_there(f"sqlite:///{tmp_path}/back.db") as loom:
        read(loom, tmp_path / "fourth", own=True)
        assert exported(loom, tmp_path / "fifth") == first
        assert content_of(tmp_path / "fifth") == before


@pytest.mark.promise("export.comes-back-the-same")
def test_what_came_back_can_be_used(full: FullMemory, store_url: str) -> None:
    with full.open() as loom:
        old = loom.workspace(SAMPLE_NAME, refusal=Forbidden("only looking"))
        kept = old.search("what is the boat called?")[0]
        shown = old.show(kept.id)
        soul = old.mind.read_note("SOUL.md").body
    with open_there(store_url) as loom:
        there = loom.workspace("another")
        there.semantic.remember(["boat"], "Another boat, of others.")
        read(loom, full.export, as_name="Sample, again", own=True)
        place = loom.workspace("sample, AGAIN")
        assert place.name == "Sample, again"
        found = place.search("what is the boat called?")[0]
        assert (found.id, found.text) == (kept.id, kept.text)
        assert place.show(kept.id) == shown
        assert {hit.text for hit in there.search("boat")} <= {"Another boat, of others.", "boat"}
        (sent,) = place.mind.conversation.log(query="the mole")
        assert place.mind.conversation.attached(sent.id)[1].endswith(bytes(range(256)))
        # New ids are above all that came along, and what was forgotten stays forgotten.
        highest = rows_of(store_url, "SELECT MAX(id) AS id FROM item")[0]["id"]
        fresh = place.semantic.remember(["boat"], "The boat has a new sail.")
        assert fresh.id > highest
        assert place.search("new sail")[0].id == fresh.id
        with pytest.raises(EverloomError):
            place.semantic.remember(["boat"], "The boat leaks at the third plank.")
        graph = place.graphs.open("travels")
        assert {each.title for each in graph.search().memories} == {"Lofoten", "Harbour"}
        assert [each.memory.title for each in graph.related(graph.recall("Lofoten").memories[0].id)] == ["Harbour"]
        assert graph.opened.disk.root.is_relative_to(loom.places.of(place.info))
        assert (graph.opened.disk.root / "photo.bin").read_bytes() == bytes(range(256))
        assert graph.opened.git.history(graph.recall("Lofoten").memories[0].path, 5, within=100) != ()
        assert place.mind.read_note("SOUL.md").body == soul
        assert loom.store.health(deep=True).problems == ()
        assert loom.remove_workspace("sample, again").workspace.name == "Sample, again"
        assert there.search("another boat")[0].text == "Another boat, of others."


@pytest.mark.promise("export.changed-byte-is-refused")
def test_a_folder_that_was_changed_is_refused_and_leaves_nothing(
    full: FullMemory, tmp_path: Path, store_url: str, home: Path
) -> None:
    whole, folder = full.export, tmp_path / "folder"
    inside = f"workspaces/{SAMPLE_NAME}"

    def changed(path: str, make: Any) -> None:
        file = folder / path
        file.write_bytes(make(file.read_bytes()))

    def listed(make: Any) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        make(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))

    def resealed(path: str, make: Any) -> None:
        """Change a file as a clever stranger would: with its sum."""
        changed(path, make)
        data = (folder / path).read_bytes()
        listed(lambda manifest: manifest["files"].update({path: _sum(sha256(data).hexdigest(), len(data))}))

    def added(name: str) -> None:
        path = f"{inside}/files/graphs/1/{name}"
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_bytes(b"#!/bin/sh\n")
        listed(lambda manifest: manifest["files"].update({path: _sum(sha256(b"#!/bin/sh\n").hexdigest(), 10)}))

    rows = f"{inside}/rows"
    cases: dict[str, Any] = {
        "observation.jsonl": lambda: changed(f"{rows}/observation.jsonl", lambda data: data[:-2] + b" \n"),
        "document.jsonl": lambda: changed(f"{rows}/document.jsonl", lambda data: data[:100]),
        "scenes.md": lambda: changed(f"{inside}/reading/scenes.md", lambda data: data + b"x"),
        "session.jsonl": (folder / rows / "session.jsonl").unlink,
        "is a link": lambda: _linked(folder / rows / "event.jsonl"),
        "'../../etc/x'": lambda: listed(lambda each: each["files"].update({"../../etc/x": _sum("0", 1)})),
        "'/etc/x'": lambda: listed(lambda each: each["files"].update({"/etc/x": _sum("0", 1)})),
        "newer": lambda: listed(lambda each: each.update(schema_version=99_999)),
        "format 2": lambda: listed(lambda each: each.update(format_version=2)),
        "no export": lambda: listed(lambda each: each.update(format="other")),
        "not valid JSON": lambda: changed("manifest.json", lambda data: data[:-20]),
        "subject_name.jsonl, line 1": lambda: resealed(f"{rows}/subject_name.jsonl", lambda data: b"[1]\n" + data),
        "knows no column": lambda: resealed(f"{rows}/event.jsonl", _with(b'"x) VALUES (1)":1,')),
        "does not fit": lambda: resealed(f"{rows}/item.jsonl", _replaced(b'"created_at":1', b'"created_at":1.')),
        "it has no 'kind'": lambda: resealed(f"{rows}/item.jsonl", _replaced(b'"kind":"session",', b"")),
        "no number": lambda: resealed(f"{rows}/scene.jsonl", _not_a_number),
        "hooks/post-checkout": lambda: added(".git/hooks/post-checkout"),
        ".Everloom/owner": lambda: added("x/.Everloom/owner-graph.json"),
        "graph_file.jsonl is not": lambda: changed(f"{rows}/graph_file.jsonl", _replaced(b'"path":"', b'"path":"../')),
        "has the id": lambda: resealed(f"{rows}/item.jsonl", _replaced(b'"id":', b'"id":-')),
        "item": lambda: resealed(f"{rows}/item.jsonl", lambda data: data.split(b"\n", 1)[1]),
    }
    with open_there(store_url) as loom:
        for told, spoil in cases.items():
            shutil.copytree(whole, folder)
            spoil()
            with pytest.raises(EverloomError) as caught:
                read(loom, folder)
            assert told in caught.value.message or told == "item", (told, caught.value.message)
            assert caught.value.hint or told == "item"
            shutil.rmtree(folder)
        assert loom.workspaces.list() == []
        assert rows_of(store_url, "SELECT id FROM workspace") == []
        assert rows_of(store_url, "SELECT id FROM item") == []
        assert list((home / "everloom" / "stores" / loom.workspaces.store_identity).rglob("*.md")) == []
        # And the folder as it was is taken.
        assert read(loom, whole, dry_run=True).workspaces[0].rows == read(loom, whole).workspaces[0].rows
        with pytest.raises(Conflict, match="already"):
            read(loom, whole)
        with pytest.raises(NotFound, match="no workspace nobody"):
            read(loom, whole, workspaces=["nobody"])
    assert is_export(whole)
    assert not is_export(tmp_path)


def _sum(sha256: str, size: int) -> dict[str, Any]:
    return {"sha256": sha256, "bytes": size}


def _not_a_number(data: bytes) -> bytes:
    return re.sub(rb'"valence":[^,]*', b'"valence":NaN', data)


def _linked(file: Path) -> None:
    real = file.with_name("elsewhere")
    file.rename(real)
    file.symlink_to(real)


def _with(text: bytes) -> Any:
    return lambda data: b"{" + text + data[1:]


def _replaced(old: bytes, new: bytes) -> Any:
    return lambda data: data.replace(old, new, 1)


def test_an_export_is_written_whole_and_privately_or_not_at_all(tmp_path: Path, store_url: str) -> None:
    with open_there(store_url) as loom:
        loom.workspace("james").semantic.remember(["James"], "James sails.")
        target = tmp_path / "taken"
        target.mkdir()
        (target / "mine.txt").write_text("mine")
        with pytest.raises(Conflict, match="already exists"):
            write(loom, target)
        with pytest.raises(NotFound, match="does not exist"):
            write(loom, tmp_path / "no" / "such")
        with pytest.raises(NotFound, match="nobody"):
            write(loom, tmp_path / "out", workspaces=["nobody"])
        (tmp_path / "made").mkdir()
        write(loom, tmp_path / "made")
    assert sorted(each.name for each in tmp_path.iterdir() if each.suffix != ".db" and "db" not in each.name) == [
        *(["data"] if (tmp_path / "data").exists() else []),
        "made",
        "taken",
    ]
    for each in (tmp_path / "made").rglob("*"):
        assert each.stat().st_mode & 0o077 == 0, each


@pytest.mark.promise("export.no-secrets")
def test_secrets_and_access_stay_behind(tmp_path: Path, store_url: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    settings = Settings.model_validate({"store": {"url": store_url}, "review": {"secrets": "warn"}})
    with open_loom(settings=settings) as loom:
        place = loom.workspace("james")
        with pytest.warns(SecretWarning):
            kept = place.semantic.remember(["James"], f"James uses {secret} at work.")
        loom.workspace("audrey")
        place.allow("audrey")
        made = Tokens(loom.store, loom.clock).create("laptop", place.info, days=7)
        report = write(loom, tmp_path / "masked")
        write(loom, tmp_path / "kept", with_secrets=True)
    texts = b"".join(content_of(tmp_path / "masked").values())
    assert report.masked > 0
    assert secret.encode() not in texts
    assert b"[redacted" in texts
    assert secret.encode() in b"".join(content_of(tmp_path / "kept").values())
    digests = [row["digest"] for row in rows_of(store_url, "SELECT digest FROM token")]
    assert digests
    assert made is not None
    for each in (tmp_path / "masked", tmp_path / "kept"):
        assert not any(digest.encode() in data for data in content_of(each).values() for digest in digests)
        assert not any("token" in path or "grant" in path for path in content_of(each))
    with open_loom(f"sqlite:///{tmp_path}/other.db") as loom:
        read(loom, tmp_path / "masked")
        assert "[redacted" in loom.workspace("james").show(kept.id).text


def test_a_damaged_row_is_named_and_stays_known_as_damaged(tmp_path: Path, store_url: str) -> None:
    with open_there(store_url) as loom:
        kept = loom.workspace("james").semantic.remember(["James"], "James sails.")
        change(store_url, f"UPDATE document SET text = 'James fails.' WHERE item_id = {kept.id}")
        report = write(loom, tmp_path / "export")
    assert report.damaged == (f"document {kept.id} of james",)
    with open_there(f"sqlite:///{tmp_path}/other.db") as loom:
        read(loom, tmp_path / "export")
        assert write(loom, tmp_path / "again").damaged == report.damaged
        assert str(kept.id) in loom.store.health(deep=True).problems[0]


def test_columns_left_out_are_only_what_every_store_decides_anew() -> None:
    missing = {
        table: set(columns_of_table(table)) - set(exported_columns(table)) - {"workspace_id", "checksum"}
        for table in exported_tables()
    }
    assert {table: names for table, names in missing.items() if names} == {
        "document": {"words", "context_words", "embedded_by"},
        "cluster": {"vector", "vector_model"},
        "graph": {"directory"},
        "lease": {"holder", "token", "held_until"},
        "job": {"holder", "held_until"},
        "contact": {"holder", "reached_until"},
    }
