"""Long work, a conversation and a beginning on a server: the same answers as on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from everloom.errors import Conflict, NotFound
from everloom.kernel.tokens import Tokens
from everloom.kernel.work.lease import Leases
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.cli.runtime.following import FollowedJob
from everloom.surfaces.cli.runtime.root import root
from tests.journeys.chat import STORY, ask
from tests.kernel.test_jobs import Gate, running
from tests.kernel.test_tasks import Chore
from tests.patience import wait_until
from tests.remote.ground import served
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import fails, says
from tests.surfaces.channels.screen import Screen
from tests.surfaces.cli.conftest import Call, Ended, filled, opened
from tests.surfaces.cli.living import lived
from tests.surfaces.cli.test_semantic import WRITES

pytestmark = pytest.mark.xdist_group("a server in a thread")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """One home for the server in this process and for every command."""
    for name, place in {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.setenv("TZ", "UTC")
    return {}


@pytest.fixture
def url(made_file: Path, tmp_path: Path) -> str:
    shutil.copy(made_file, tmp_path)
    return f"sqlite:///{tmp_path}/loom.db"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"match": ".", "reply": WRITES}]))
    return file


@pytest.fixture
def far(url: str, script: Path, calling: Callable[[str], Call]) -> Iterator[Call]:
    """A command line that uses a server with a language model."""
    with served(url, Settings.model_validate({"llm": {"large": f"scripted:{script}"}})) as server:
        yield calling(server.url)


@pytest.mark.promise("remote.long-work")
def test_a_server_consolidates_and_the_result_is_that_of_this_machine(
    call: Call, far: Call, script: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("workspace", "create", "other")
    for chosen in ((), ("-w", "other")):
        assert call("remember", "James sails.", "--about", "James", "--about", "sailing", "--session", "a", *chosen).out
    there = far("consolidate", "--limit", "1", "--json").result
    monkeypatch.setenv("EVERLOOM_LLM_LARGE", f"scripted:{script}")
    here = call("consolidate", "--limit", "1", "-w", "other", "--json").result
    assert {**there, "spent": None, "taken": len(there["taken"])} == {**here, "spent": None, "taken": 1}
    assert (there["left"], there["finished"]) == (3, True)
    told = far("consolidate")
    assert told.code == 0, told.err
    assert "James × sailing" in told.out
    assert "generation 2 finished; 0 still wait" in told.out
    assert "nothing is waiting" in far("consolidate").out
    call("remember", "James rows.", "--about", "James")
    with opened(url) as loom:
        assert Leases(loom.store, loom.clock, loom.holder).take(loom.workspace().info.id, "consolidate") is not None
    busy = far("consolidate", "--json")
    assert (busy.code, busy.error["code"]) == (1, "conflict")
    assert "lease" in busy.error["hint"]


@pytest.mark.promise("remote.long-work")
def test_a_server_embeds_and_calibrates_as_this_machine_does(call: Call, far: Call, url: str, tmp_path: Path) -> None:
    # Their vectors are to come from a model that does not answer, so that they wait.
    filled(url, "James sails.", "Audrey rows.", models=("ollama:none",))
    (embedded,) = far("embed", "--json").result["workspaces"]
    assert (embedded["state"], embedded["before"]["waiting"], embedded["after"]["waiting"]) == ("done", 2, 0)
    assert far("embed").out == call("embed").out
    assert far("embed", "--json").result == call("embed", "--json").result
    lived(call, tmp_path)
    files = [f"{tmp_path}/boats.txt", f"{tmp_path}/towns.txt"]
    for _ in range(2):
        assert call("calibrate", "--dry-run", *files).out == far("calibrate", "--dry-run", *files).out
        assert far("calibrate", *files, "--json").result["kept"]
    refused = far("calibrate", files[0], "--json")
    assert refused.code != 0
    assert "too few" in refused.error["message"]
    everywhere = far("embed", "--all", "--json")
    assert (everywhere.code, everywhere.error["code"]) == (2, "rejected")


@pytest.mark.promise("remote.long-work")
def test_ctrl_c_asks_the_job_to_stop_and_waits_for_that(url: str) -> None:
    with opened(url) as loom:
        place, gate = loom.workspace(), Gate()
        loom.work.add(Chore("chore", deed=gate))
        job, usual = place.background.start("chore"), signal.getsignal(signal.SIGINT)

        def interrupt() -> None:
            wait_until(lambda: gate.entered.is_set() and signal.getsignal(signal.SIGINT) is not usual, "the wait")
            os.kill(os.getpid(), signal.SIGINT)

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        followed = FollowedJob(place, job, "working")
        interrupting.join()
        assert followed.is_stopped
        assert followed.status.is_over
        assert place.background.recent()[0].id == job.id
        with pytest.raises(NotFound):
            place.background.wait(job.id + 1)


def test_waiting_for_a_job_has_an_end(url: str) -> None:
    with opened(url) as loom, running(loom.workspace()) as (job, _), pytest.raises(Conflict, match="still running"):
        loom.workspace().background.wait(job.id, seconds=0.1)


@pytest.fixture
def talking(url: str, calling: Callable[[str], Call]) -> Iterator[Call]:
    """A command line that uses a server whose model repeats what it is told."""
    with served(url, Settings.model_validate({"llm": {"large": "scripted:echo"}})) as server:
        yield calling(server.url)


@pytest.mark.promise("remote.chat")
def test_a_message_to_a_server_is_answered_there_and_the_reply_is_shown_here(call: Call, talking: Call) -> None:
    found = talking("chat", "--once", "Who sails?", "--json").result
    assert "Who sails?" in found["reply"]
    assert found["usage"]["output"] > 0
    assert "Once more" in talking("chat", "--once", "Once more").out
    assert "Piped" in talking("chat", input="Piped").out
    assert talking("chat", "--once", " ").code == 2
    log = call("mind", "log", "--json").result["messages"]
    assert [each["state"] for each in log] == ["answered", "sent"] * 3
    assert {each["channel"] for each in log} == {"terminal"}


@pytest.mark.promise("remote.chat")
def test_a_sitting_elsewhere_looks_like_one_here(
    url: str, tmp_path: Path, environment: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nobody-may-see-this")
    with ClaudeServer() as claude:
        claude.script(
            says("Hello James. How is the boat?", piece=6, pause=0.05),
            fails(400, "the model is resting"),
            says("Paint it blue."),
            says(STORY, piece=6, pause=0.15),
        )
        known = {"llm": {"large": "anthropic:claude-sonnet-5-5"}, "provider": {"anthropic_base": claude.url}}
        secrets = {"anthropic_api_key": "sk-ant-nobody-may-see-this"}
        settings = Settings.model_validate({**known, "secrets": secrets})
        with open_loom(url) as loom:
            loom.workspace().semantic.remember(["James"], "James keeps bees.", kind="fact")
        with served(url, settings) as server:
            command = [sys.executable, "-m", "everloom", "chat", "--store", server.url]
            with Screen(command, dict(os.environ), columns=96) as screen:
                ask(screen, "Hello, it's James.", "How is the boat?", "tokens in", "context")
                ask(screen, "And the mast?", "resting", "/retry asks again)")
                ask(screen, "/status", "1 unanswered")
                ask(screen, "/retry", "Paint it blue.", "context")
                ask(screen, "/undo", "undone: And the mast?")
                ask(screen, "/memory boat", "</found")
                ask(screen, "/facts", "James keeps bees.")
                ask(screen, "/facts who keeps bees", "James keeps bees.")
                ask(screen, "/usage", "mind.dollars_a_day")
                ask(screen, "/notes", "SOUL.md")
                ask(screen, "/nonsense", "/help lists the commands")
                ask(screen, "Tell me a story.", "nobody")
                screen.interrupt()
                screen.until("not waiting any longer")
                # The server goes on, and what it wrote is shown beside the prompt.
                screen.until("] Once upon a time")
                screen.leave()
                screen.until("continue the conversation any time")
                assert screen.ended() == 0
    (history,) = (tmp_path / "data" / "everloom").rglob("chat_history")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.promise("remote.chat")
def test_a_server_without_a_model_takes_no_message(calling: Callable[[str], Call], url: str) -> None:
    with served(url, Settings()) as server:
        ended = calling(server.url)("chat", "--once", "Hello", "--json")
        assert ended.code == 1
        assert "on the server" in ended.error["message"]
    with opened(url) as loom:
        assert loom.workspace().mind.conversation.log() == []


@pytest.mark.promise("remote.init")
def test_init_makes_a_server_the_memory_of_every_following_command(
    url: str, tmp_path: Path, environment: dict[str, str | None]
) -> None:
    def run(*arguments: str, **extra: Any) -> Ended:
        ended = CliRunner().invoke(root, arguments, **extra)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    file, tokens = tmp_path / "config" / "everloom" / "everloom.toml", tmp_path / "config" / "everloom" / "tokens"
    with opened(url) as loom:
        place = loom.workspace("kept").info
        secret = Tokens(loom.store, loom.clock).create("mine", place, read_only=False).secret
    gone = run("init", "--store", "http://127.0.0.1:1", "--token", secret, "--json")
    assert gone.code == 1
    with served(url, Settings()) as server, served(url, Settings()) as other:
        wrong = run("init", "--store", server.url, "--token", "wrong", "--json")
        assert (wrong.code, wrong.error["code"]) == (1, "forbidden")
        assert run("init", "--store", server.url, "--token", "-", "--json", input="").code == 2
        assert run("init", "--store", server.url, "--sample", "--json").code == 2
        assert run("init", "--token", secret, "--json").code == 2
        assert not file.exists()
        assert not tokens.exists()
        made = run("init", "--store", f"{server.url}/", "--token", "-", input=f"{secret}\n")
        assert made.code == 0, made.err
        assert "only you can read it" in made.out
        assert secret not in made.out + file.read_text()
        assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
        # Now every command goes there, without a flag.
        assert run("remember", "James sails.", "--about", "James").code == 0
        assert run("workspace", "show", "--json").result["name"] == "kept"
        assert "James sails" in run("recall", "James").out
        # A token goes nowhere else; this server needs none, and gives its own workspace.
        assert run("workspace", "show", "--store", other.url, "--json").result["name"] == "default"
        again = run("init", "--store", other.url, "--json")
        assert "--force" in again.error["hint"]
        file.write_text(file.read_text() + "# my own line\n")
        assert run("init", "--store", other.url, "--force", "--json").result["token"]["kept"] is False
        assert "# my own line" in file.read_text()
        assert run("workspace", "show", "--json").result["name"] == "default"
        tokens.chmod(0o644)
        readable = run("recall", "James", "--json")
        assert (readable.code, "chmod 600" in readable.error["hint"]) == (2, True)
