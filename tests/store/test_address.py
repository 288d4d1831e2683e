"""An address is read as it is written: characters of a path mean themselves, and secrets are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.errors import Rejected, StoreError
from everloom.store import as_url, open_store, redact, sqlite_url, without_secrets
from everloom.store.address import sqlite_path
from everloom.store.transfer import restore
from tests.store.ground import note, open_at

ODD = ["b%41.db", "a?b#c.db", "with space.db", "-x.db", "~a.db", "ü日本.db", "a=b.db", "c&d;e'f\"g.db", "file:x.db"]


@pytest.mark.promise("restore.paths-are-paths")
@pytest.mark.parametrize("name", ODD)
def test_every_character_of_a_path_means_itself(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert sqlite_path(sqlite_url(path)) == path
    assert sqlite_path(as_url(str(path))) == path
    with open_at(as_url(str(path))) as loom:
        loom.workspace("james").add([note("North.")])
        loom.store.backup(tmp_path / f"copy of {name}")
    assert {each.name for each in tmp_path.iterdir()} >= {name, f"copy of {name}"}


@pytest.mark.promise("restore.paths-are-paths")
def test_a_backup_with_an_odd_name_is_the_one_that_is_restored(tmp_path: Path, clock: ManualClock) -> None:
    with open_at(sqlite_url(tmp_path / "loom.db")) as loom:
        loom.workspace("james").add([note("North.")])
        loom.store.backup(tmp_path / "b%41.db")
    report = restore(tmp_path / "b%41.db", sqlite_url(tmp_path / "loom.db"), clock, force=True)
    assert report.workspaces == ("james",)
    with pytest.raises(StoreError):
        restore(tmp_path / "bA.db", sqlite_url(tmp_path / "loom.db"), clock, force=True)
    with open_at(sqlite_url(tmp_path / "loom.db")) as loom:
        assert [hit.text for hit in loom.workspace("james").search("north")] == ["North."]
    assert not (tmp_path / "bA.db").exists()


def test_a_relative_path_and_the_home_directory_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert as_url("loom.db") == f"sqlite://{tmp_path}/loom.db"
    assert sqlite_path(as_url("~/loom.db")) == sqlite_path("sqlite:///~/loom.db") == tmp_path / "loom.db"
    assert sqlite_path(sqlite_url(Path("/~/loom.db"))) == Path("/~/loom.db")


@pytest.mark.parametrize(
    "text", ["", " ", "nonsense", "host=db password=hush", "sqlite:///:memory:", "mysql://u:hush@h/db"]
)
def test_what_is_no_address_is_refused_without_its_secrets(text: str, clock: ManualClock) -> None:
    with pytest.raises(Rejected) as refusal:
        open_store(as_url(text), clock)
    assert "hush" not in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.promise("store.secrets-are-hidden")
@pytest.mark.parametrize(
    ("address", "shown", "kept"),
    [
        ("postgresql://u:hush@h/db", "postgresql://u:***@h/db", "postgresql://u@h/db"),
        ("postgresql://u@h/db?sslpassword=hush&a=b", "postgresql://u@h/db?sslpassword=***&a=b", None),
        ("postgresql://u@h/db?PASSWORD=hush", "postgresql://u@h/db?PASSWORD=***", "postgresql://u@h/db"),
        ("postgresql://u:hu/sh@h:1,i:2/db", "postgresql://u:***@h:1,i:2/db", "postgresql://u@h:1,i:2/db"),
        ("postgresql://u:hu?sh@h/db", "postgresql://u:***@h/db", "postgresql://u@h/db"),
        ("postgresql://u:hu#sh@h/db", "postgresql://u:***@h/db", "postgresql://u@h/db"),
        ("postgresql://u@h/db?oauth_client_secret=hush", None, "postgresql://u@h/db"),
        (
            "host=h password='hu\\' sh' scram_client_key=hush user=u",
            "host=h password=*** scram_client_key=*** user=u",
            None,
        ),
        ("postgresql://h:5432/db?application_name=a@b", "postgresql://h:5432/db?application_name=a@b", None),
        ("sqlite:///a:b@c/password=x.db", "sqlite:///a:b@c/password=x.db", "sqlite:///a:b@c/password=x.db"),
    ],
)
def test_every_secret_of_an_address_is_hidden(address: str, shown: str | None, kept: str | None) -> None:
    assert redact(address) == (shown or redact(address))
    assert without_secrets(address) == (kept or without_secrets(address))
    assert "hu" not in redact(address) + without_secrets(address)


@pytest.mark.promise("store.secrets-are-hidden")
@pytest.mark.parametrize(
    "url", ["postgresql://u:hush%zz@h/db", "postgresql://u@h/db?password=hush&x", "postgresql://u:hush@[::1/db"]
)
def test_an_address_that_cannot_be_read_is_refused_without_its_secrets(url: str, clock: ManualClock) -> None:
    with pytest.raises(StoreError) as refusal:
        open_store(url, clock)
    assert "hush" not in str(refusal.value)
    assert "percent" in str(refusal.value.hint)
