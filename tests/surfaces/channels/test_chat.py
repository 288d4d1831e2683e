"""`everloom chat` as people use it: in a real terminal, and in scripts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from everloom.loom import Workspace
from everloom.mind.conversation.conversation import TURN
from everloom.surfaces.channels.terminal import CHANNEL, Terminal, read_message
from everloom.surfaces.cli.commands.chat import write
from tests.patience import PATIENCE


def environment(home: Path, **more: str) -> dict[str, str]:
    """Variables that keep a command away from the home of whoever runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EVERLOOM_", "XDG_")) and not name.endswith(("_API_KEY", "_TOKEN"))
    }
    places = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    return {**kept, **places, "TZ": "UTC", **more}


def test_nothing_that_a_model_says_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write("sea \x1b[31mis calm\x07")
    assert capsys.readouterr().out == "sea \N{REPLACEMENT CHARACTER}[31mis calm\N{REPLACEMENT CHARACTER}"


@pytest.mark.promise("mind.chat")
def test_a_script_says_one_thing_and_reads_the_reply(call: Any) -> None:
    env = {"EVERLOOM_LLM_LARGE": "scripted:echo"}
    result = call("chat", "--json", env=env, input="Hello\nthere").result
    assert "Hello\nthere" in result["reply"]
    assert result["usage"]["output"] > 0
    assert "Once more" in call("chat", "--once", "Once more", env=env).out
    assert "Piped" in call("chat", "--once", "-", env=env, input="Piped").out
    assert call("chat", "--once", " ", env=env).code == 2


@pytest.mark.promise("mind.no-model")
@pytest.mark.parametrize("model", ["", "anthropic:claude-sonnet-5-5", "openai:gpt-9"])
def test_without_a_model_or_a_key_it_says_what_to_set_and_takes_nothing(call: Any, model: str, tmp_path: Path) -> None:
    ended = call("chat", "--once", "Hello", env={"EVERLOOM_LLM_LARGE": model})
    assert ended.code == 1
    assert "ollama" in ended.err
    assert "Traceback" not in ended.err
    assert "messages" not in call("mind", "log", "--json").result


@pytest.fixture
def call(tmp_path: Path) -> Any:
    """Run a command inside this process."""
    from click.testing import CliRunner

    from everloom.surfaces.cli.runtime.root import root
    from tests.surfaces.cli.conftest import Ended

    variables: dict[str, str | None] = {name: None for name in os.environ if name.endswith("_API_KEY")}
    places = environment(tmp_path, EVERLOOM_STORE_URL=f"sqlite://{tmp_path}/loom.db")

    def run_here(*arguments: str, env: dict[str, str] | None = None, **extra: Any) -> Ended:
        ended = CliRunner(env={**variables, **places, **(env or {})}).invoke(root, arguments, **extra)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return run_here


def test_a_conversation_is_not_json(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from everloom.surfaces.cli.commands import chat

    monkeypatch.setattr(chat, "sys", type("Seen", (), {"stdin": type("Tty", (), {"isatty": lambda _: True})()}))
    assert call("chat", "--json").error["code"] == "rejected"


@pytest.mark.promise("mind.chat")
def test_whoever_has_the_turn_answers_and_the_terminal_shows_it(place: Workspace, store_url: str, beside: Any) -> None:
    words: list[str] = []
    mine, other = place.mind, place.mind
    with other.setup.leases.held(place.info.id, TURN) as held:
        assert held is not None
        message = Terminal(mine.conversation, words.append).tell("Hello")
        found: list[Any] = []
        ended = beside(lambda: found.append(Terminal(mine.conversation, words.append).hear(message, seconds=PATIENCE)))
        assert not ended.wait(0.3)
    assert ended.wait(PATIENCE), "the terminal heard no answer"
    assert found[0].reply.text in "".join(words)


@pytest.mark.promise("mind.chat")
def test_what_arrives_unasked_is_shown_once(here: Workspace) -> None:
    terminal = Terminal(here.mind.conversation, lambda _: None)
    here.mind.conversation.speak("Do not forget the mast.", cause="heartbeat", channel=CHANNEL)
    assert [each.text for each in terminal.arrived()] == ["Do not forget the mast."]
    assert terminal.arrived() == []
    assert here.mind.conversation.log()[0].state == "sent"


def lines(*typed: str) -> Any:
    waiting = list(typed)

    def read(_: str) -> str:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return read


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["hello"], "hello"),
        (["one \\", "two"], "one \ntwo"),
        (['"""', "one", "", "two\\", '"""'], "one\n\ntwo\\"),
        (['"""', "one"], "one"),
        (["one\\"], "one"),
        ([], None),
        ([""], ""),
    ],
)
def test_lines_become_a_message(typed: list[str], expected: str | None) -> None:
    assert read_message(lines(*typed), "> ", ". ") == expected
