"""A sitting at the terminal, recorded: `python -m tests.journeys.chat` types into `everloom chat`, writes docs/chat.md.

A real process in a real pseudo-terminal, against the scripted Claude over HTTP; times and costs are blotted out, so
that the page reads the same after every run.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from everloom.loom import open_loom
from everloom.settings import Settings
from tests.docs.pages import ROOT
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import fails, says, uses
from tests.surfaces.channels.screen import Screen

PAGE = ROOT / "docs" / "chat.md"
OPENING = """\
# A conversation at the terminal

`python -m tests.journeys.chat` recorded this page: a real `everloom chat` in a real terminal, talking over HTTP with a
scripted server that speaks Anthropic's protocol. What stands behind `›` was typed. Colours, and the sign of life while
the model thinks, cannot be seen here; numbers that differ from run to run are written as `…`. [mind.md](mind.md) says
what happens behind it.
"""
KEY = "sk-ant-nobody-may-see-this"
STORY = "Once upon a time there was a boat that nobody wanted to paint, and so it waited."
THOUGHT = "He sounds cheerful today."
BLOTS = (
    (re.compile(r"(Once upon .*?nobody)[^\n]*"), r"\1 …"),
    (re.compile(r"127\.0\.0\.1:\d+"), "…"),
    (re.compile(r" +$", re.MULTILINE), ""),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "…"),
    (re.compile(r"\[\d\d:\d\d\]"), "[…]"),
    (re.compile(r"\(\d[\d,]* tokens in.*?\)\n"), "(… tokens in, … out, $…, context …)\n"),
    (re.compile(r"total \d[^\n]*"), "total … tokens in, … out, $…"),
    (re.compile(r"today \$[\d.]+"), "today $…"),
    (re.compile(r"exchange \d+"), "exchange …"),
    (re.compile(r"[\d,]+ of [\d,]+ tokens"), "… of … tokens"),
    (re.compile(r"found-[0-9a-f]+"), "found-…"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:+]+"), "…"),
    (re.compile(r"…, [A-Z][a-z]+day"), "…"),
)


def environment(home: Path, url: str) -> dict[str, str]:
    """Variables of somebody who has just set a key."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVERLOOM_", "XDG_", "NO_COLOR"))}
    places = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    model = {"EVERLOOM_LLM_LARGE": "anthropic:claude-sonnet-5-5", "EVERLOOM_PROVIDER_ANTHROPIC_BASE": url}
    return {**kept, **places, **model, "ANTHROPIC_API_KEY": KEY, "TZ": "UTC"}


def recorded(home: Path) -> str:
    """Hold the conversation; give the page."""
    with ClaudeServer() as claude:
        claude.script(
            says("Hello James. How is the boat?", thought=THOUGHT),
            uses(("update_status", {"updates": {"boat": {"mast": "repaired"}}})),
            uses(("append_note", {"name": "MEMORY.md", "text": "- James sails with Audrey; the mast was repaired."})),
            says("Good that the mast is mended. I have written it down."),
            says(
                "Once upon a time there was a boat that nobody wanted to paint, and so it waited.", piece=6, pause=0.15
            ),
            fails(400, "the model is resting"),
            says("In short: paint it blue."),
        )
        command = [sys.executable, "-m", "everloom", "chat"]
        with Screen(command, environment(home, claude.url), columns=96, term="xterm-256color", rows=500) as screen:
            converse(screen)
            screen.until("› ")
            speak(home, "The tide turns at six.")
            screen.until_shown("at six.\n›")
            screen.leave()
            screen.until("continue the conversation any time")
            assert screen.ended() == 0
        assert claude.complaints == []
    assert KEY not in screen.text
    return written(screen.glass.text)


def speak(home: Path, text: str) -> None:
    """Let the agent speak first, from another process than the terminal's."""
    settings = Settings.model_validate({"workspace": {"time_zone": "UTC"}, "mind": {"notes": home / "elsewhere"}})
    with open_loom(f"sqlite://{home}/data/everloom/everloom.db", settings=settings) as loom:
        loom.workspace().mind.conversation.speak(text, cause="heartbeat", channel="terminal")


def converse(screen: Screen) -> None:
    """Type what a person would."""
    ask(screen, "Hello, it's James.", "How is the boat?", "context")
    ask(screen, "The mast is repaired. \\", "Audrey and I sail on Sunday.", "written it down.", "context")
    ask(screen, "/status", '"mast": "repaired"', "tokens")
    ask(screen, "Tell me a story about it.", "nobody")
    screen.interrupt()
    screen.until("/retry asks again)")
    ask(screen, "/retry", "resting", "/retry asks again)")
    ask(screen, "/retry", "paint it blue.", "context")
    ask(screen, "/undo", "undone")
    ask(screen, "/model", "would answer")
    ask(screen, "/model haiku-9", "Hint: ")
    ask(screen, "/model claude-haiku-5-5", "from now on")
    ask(screen, "/memory mast", "</found")
    ask(screen, "/notes MEMORY.md", "was repaired.")
    ask(screen, "/usage", "mind.dollars_a_day")
    ask(screen, "/nonsense", "/help lists the commands")


def ask(screen: Screen, *steps: str) -> None:
    """Wait for the prompt, type a line (and the rest of it), then wait for what must appear."""
    screen.until("› ")
    line, *expected = steps
    screen.enter(line)
    if line.endswith("\\"):
        screen.until("… ")
        screen.enter(expected.pop(0))
    for each in expected:
        screen.until(each)


def written(screen: str) -> str:
    """Write what was on the screen as a page that is the same after every run."""
    text = screen
    for pattern, blot in BLOTS:
        text = pattern.sub(blot, text)
    text = text.replace("\r", "")
    return f"{OPENING}\n```text\n$ everloom chat\n{text.strip()}\n```\n"


def main() -> None:
    """Record the page anew."""
    with tempfile.TemporaryDirectory() as home:
        PAGE.write_text(recorded(Path(home)), encoding="utf-8")


if __name__ == "__main__":
    main()
