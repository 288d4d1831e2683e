"""`everloom chat` in a terminal that has colours, keys and pastes: a real process in a real pseudo-terminal."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from everloom.loom import open_loom
from everloom.mind.conversation.turn import ToolStep
from everloom.surfaces.cli.commands.terminal.display import Display
from everloom.surfaces.cli.commands.terminal.look import TerminalLook
from tests.journeys.chat import environment, speak
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import says, uses
from tests.surfaces.channels.conftest import settings_for
from tests.surfaces.channels.glass import Glass
from tests.surfaces.channels.screen import Screen

CHAT = [sys.executable, "-m", "everloom", "chat"]
XTERM = "xterm-256color"
# A new title, an answer to a question that nobody asked, a cleared screen, a hidden link, and a text that turns round.
ATTACK = "sea\x1b]0;owned\x07\x1b[6n\x1b[2J\x9b2J\x1b]8;;http://evil\x1b\\link\u202edeb\r gone"
WIDE = "東京の海は今日とても静かで、船は港でゆっくりと揺れています。" * 2 + "cafe\u0301"


def asked(claude: ClaudeServer) -> list[str]:
    """List what the model was asked, message by message, without what the program adds."""
    found = []
    for body in claude.talks:
        blocks: Any = body["messages"][-1]["content"]
        found += [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in found if "added by the program" not in text]


@pytest.mark.promise("mind.chat", "mind.chat-terminal", "mind.chat-paste")
def test_a_paste_is_one_message_and_a_reply_has_signs_of_life_tools_and_colours(tmp_path: Path) -> None:
    with ClaudeServer() as claude:
        claude.script(
            says("Three lines, one answer.", delay=1.0),
            uses(("update_status", {"updates": {"boat": "red"}})),
            says("# Noted\nThe boat is **red** and `swift`.\n```\nx = 1\n```"),
            says(ATTACK),
        )
        with Screen(CHAT, environment(tmp_path, claude.url), columns=60, term=XTERM) as screen:
            screen.until_shown("commands.\n›")
            screen.paste("one\n\ttwo \\\nthree \x1b[31mred\n")
            screen.until_shown("› one\n…     two \\\n… three [31mred\n…")
            screen.press("\r")
            # The sign of life is there while the model thinks, and gone with the first word.
            screen.until_shown("thinking")
            shown = screen.until_shown("Three lines, one answer.", "context", "›")
            assert "thinking" not in shown
            assert asked(claude)[-1].endswith("one\n\ttwo \\\nthree [31mred")

            screen.press("a line\rand another\rat once\r")
            shown = screen.until_shown("✓ update_status\n# Noted", "x = 1", "context", "›")
            assert asked(claude)[-1].endswith("a line\nand another\nat once")
            assert "1" in screen.glass.style_of("red").split(";")
            assert "36" in screen.glass.style_of("swift").split(";")
            assert "**red** and `swift`." in shown

            screen.press("/status\rAttack\r")
            screen.until_shown('"boat": "red"', "sea\ufffd]0;owned\ufffd", "link\ufffddeb\ufffd gone", "context", "›")
            screen.leave()
            screen.until_shown("3 turns; continue the conversation any time")
            assert screen.ended() == 0
            assert screen.glass.modes == set()
        assert claude.complaints == []


@pytest.mark.promise("mind.chat", "mind.chat-terminal")
def test_a_line_is_edited_and_stays_when_a_message_arrives(tmp_path: Path) -> None:
    with ClaudeServer() as claude:
        claude.script(
            says("Yes?"),
            says(WIDE, piece=3),
            says("Once upon a time there was a boat that nobody wanted to paint.", piece=6, pause=0.15),
            says("Fine."),
            says("So be it."),
            says("Farewell."),
        )
        with Screen(CHAT, environment(tmp_path, claude.url), columns=60, term=XTERM) as screen:
            screen.until_shown("commands.\n›")
            # An arrow, Home, End, a word cut and put back, and a line typed before; then Alt-Enter.
            screen.press("ttack\x1b[H\x01A\x05 now\x17\x19\x1b\rplease")
            screen.until_shown("› Attack now\n… please")
            screen.press("\x1b[A\x1b[A\x1b[B\x1b[B\r")
            screen.until_shown("Yes?", "context", "›")
            assert asked(claude)[-1].endswith("Attack now\nplease")

            screen.press("日本\x7f語e\u0301\x7f\r")
            shown = screen.until_shown("東京", "cafe\u0301", "context", "›")
            assert asked(claude)[-1].endswith("日語")
            lines = shown[shown.index("東京の海は") :].split("\n")[:3]
            assert lines[0] == WIDE[:30]
            assert "".join(lines[:2]) == WIDE[:-5] or not lines[1].startswith(("、", "。"))

            screen.press("half a thou")
            speak(tmp_path, "The tide turns at six, and the wind comes from the north, so bring a coat.")
            screen.until_shown("] The tide turns", "\nnorth, so bring a coat.\n› half a thou")
            screen.press("ght\r")
            screen.until_shown("nobody")
            screen.interrupt()
            screen.until_shown("nobody", "(abandoned; the message is kept, /retry asks again)\n›")
            screen.press("/retry\r")
            screen.until_shown("Fine.", "context", "›")
            assert asked(claude)[-1].endswith("half a thought")
            # A paste that begins like a command is a message; Ctrl-R finds an earlier line; Ctrl-D after Enter leaves.
            screen.paste("/usr/bin/boat: sinks\n/quit")
            screen.press("\r")
            screen.until_shown("So be it.", "context", "›")
            assert asked(claude)[-1].endswith("/usr/bin/boat: sinks\n/quit")
            screen.press("\x12thou\x05!\r\x04")
            screen.until_shown("5 turns; continue the conversation any time")
            assert screen.ended() == 0
            assert screen.glass.modes == set()
        assert asked(claude)[-1].endswith("half a thought!")
        assert claude.complaints == []


SAID = """(uses update_status)\r
# Noted\r
The boat is **red**, as you said, and it waits in the\r
harbour for the wind.\r
(N)\r
"""


def plainly(raw: bytes) -> str:
    """Return what was written, without figures that differ from run to run."""
    return re.sub(r"\(\d[\d,]* tokens in.*?(?: \r\n|\r\n| )?context \d+%\)", "(N)", raw.decode(), flags=re.DOTALL)


@pytest.mark.promise("mind.chat-plain")
@pytest.mark.parametrize(
    ("term", "more", "arguments"), [("dumb", {}, []), (XTERM, {"NO_COLOR": "1"}, []), (XTERM, {}, ["--no-color"])]
)
def test_whoever_wants_plain_text_gets_no_codes(
    tmp_path: Path, term: str, more: dict[str, str], arguments: list[str]
) -> None:
    with ClaudeServer() as claude:
        claude.script(
            uses(("update_status", {"updates": {"boat": "red"}})),
            says("# Noted\nThe boat is **red**, as you said, and it waits in the harbour for the wind.", delay=0.5),
        )
        with Screen([*CHAT, *arguments], environment(tmp_path, claude.url) | more, columns=60, term=term) as screen:
            screen.until_shown("commands.\n›")
            screen.press("Hello\n")
            screen.until_shown("context", "%)\n›")
            screen.leave()
            assert screen.ended() == 0
        said = plainly(screen.raw)
        assert SAID in said
        assert not re.search(r"\x1b\[[\d;]*m", said)
        if term == "dumb":
            opening = "default, with anthropic:claude-sonnet-5-5. /help lists\r\ncommands.\r\n"
            assert said == f"{opening}› Hello\r\n{SAID}› \r\n1 turn; continue the conversation any time\r\n"


@pytest.mark.promise("mind.chat-plain")
def test_a_pipe_gets_the_reply_and_nothing_else(tmp_path: Path) -> None:
    given = environment(tmp_path, "") | {"EVERLOOM_LLM_LARGE": "scripted:echo", "TERM": XTERM}
    done = subprocess.run([*CHAT, "--once", "**Sea** \x1b[2J"], capture_output=True, env=given, check=True)
    assert re.fullmatch(r"\[terminal, [^]]+\] \*\*Sea\*\* \ufffd\[2J\n", done.stdout.decode())


@pytest.mark.promise("mind.chat-terminal")
def test_a_sitting_begins_with_what_was_said_last_and_lives_through_a_smaller_window(tmp_path: Path) -> None:
    given = environment(tmp_path, "") | {"EVERLOOM_LLM_LARGE": "scripted:echo", "XTERM_VERSION": "one like it"}
    with open_loom(f"sqlite://{made(tmp_path)}/everloom.db", settings=settings_for(tmp_path)) as loom:
        talk = loom.workspace().mind.conversation
        for number in range(5):
            talk.receive(f"Line {number} \x1b[31m" + "long " * 80, channel="telegram", key=str(number), is_whole=True)
            assert talk.step()
    with Screen(CHAT, given, columns=70, term=XTERM) as screen:
        shown = screen.until_shown("you (telegram): Line 4 \ufffd[31mlong", "…\n", "commands.\n›")
        assert "Line 1" not in shown
        assert re.match(r"[A-Z][a-z]+day, \d{4}-\d\d-\d\d\n  \d\d:\d\d you \(telegram\): Line 2", shown)
        assert screen.glass.style_of("Line 4") == ";2"
        assert max(map(len, shown.split("\n"))) <= 70
        screen.press("a message that takes more than one row of this window, and is typed before it shrinks")
        screen.until_shown("before it shrinks")
        screen.resize(40)
        screen.press("!")
        screen.until_shown("commands.\n› a message that takes more than one row\n of this", "shrinks!")
        screen.press("\r")
        shown = screen.until_shown("] a\nmessage that", "context", "›")
        reply = shown[shown.rindex("[terminal,") :].split("\n(")[0]
        assert max(map(len, reply.split("\n"))) <= 40
        screen.press("/help\r/model\r/model sonnet-9\r/model scripted:echo\r/quit\r")
        screen.until_shown("/model [NAME] [--keep]", "scripted:echo would answer", "sonnet-9 is neither", "from now on")
        assert screen.ended() == 0


def made(home: Path) -> Path:
    """Make the folder of the store that a command would make."""
    folder = home / "data" / "everloom"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.promise("mind.chat-terminal")
def test_a_sitting_that_is_told_to_end_gives_the_terminal_back(tmp_path: Path) -> None:
    given = environment(tmp_path, "") | {"EVERLOOM_LLM_LARGE": "scripted:echo"}
    with Screen(CHAT, given, columns=70, term=XTERM) as screen:
        before = screen.echoes()
        screen.until_shown("commands.\n›")
        assert (before, screen.echoes()) == (True, False)
        screen.process.terminate()
        assert screen.ended() == -signal.SIGTERM
        assert screen.echoes()
        assert screen.glass.modes == set()


@pytest.mark.promise("mind.chat-terminal")
def test_the_log_does_not_fall_into_what_is_said_or_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    display = Display(TerminalLook(is_terminal=True, is_lively=True, draws=True))
    handler = logging.StreamHandler(sys.stderr)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(logging.getLogger("everloom"), "handlers", [handler])
    with display.taking_log():
        display.use(ToolStep(1, "search_memory", "runs"))
        logging.getLogger("everloom").warning("a \x1b[2J warning")
        display.say("Words come ")
        logging.getLogger("everloom").warning("another")
        display.say("and go.")
        display.end()
    assert handler.stream is sys.stderr
    glass = Glass(80, 24)
    glass.feed(capsys.readouterr().out.replace("\n", "\r\n"))
    assert glass.text == "a \ufffd[2J warning\nWords come\nanother\n and go.\n"
