"""What a sitting shows of earlier messages, and what it makes of the path of a file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from everloom.errors import EverloomError
from everloom.loom import open_loom
from everloom.mind import StreamMessage
from everloom.surfaces.channels.terminal import Terminal
from everloom.surfaces.cli.commands.terminal.recent import recent_lines
from everloom.surfaces.cli.commands.terminal.sitting import as_dropped
from tests.models.test_media import png
from tests.surfaces.channels.conftest import settings_for


def test_what_was_said_last_names_speakers_machines_and_files(tmp_path: Path) -> None:
    at = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)

    def shown(**more: Any) -> str:
        given: dict[str, Any] = {
            "id": 1,
            "direction": "in",
            "channel": "telegram",
            "address": "",
            "text": "Hello.",
            "at": at,
        }
        (_, line) = recent_lines([StreamMessage(**given, state="answered", **more)], ZoneInfo("UTC"), "terminal")
        return line.strip()

    assert shown() == "09:00 you (telegram): Hello."
    assert shown(sender="Audrey") == "09:00 Audrey (telegram): Hello."
    assert shown(kind="event", sender="shop") == "09:00 event from shop (telegram): Hello."
    assert shown(kind="event") == "09:00 event (telegram): Hello."
    with open_loom(f"sqlite://{tmp_path}/loom.db", settings=settings_for(tmp_path)) as loom:
        talk = loom.workspace("james").mind.conversation
        (tmp_path / "my boat.png").write_bytes(png())
        terminal = Terminal(talk, lambda _: None)
        terminal.attach(as_dropped(f"'{tmp_path}/my boat.png'"))
        with pytest.raises(EverloomError):
            terminal.tell("x" * 10_000_000)
        # What was attached was not lost with the message that was refused.
        terminal.tell("Look.")
        assert list(recent_lines(talk.log(), ZoneInfo("UTC"), "terminal"))[1].endswith("you: Look. [my boat.png]")


def test_a_file_that_was_dropped_on_the_terminal_is_found(tmp_path: Path) -> None:
    plain, odd = tmp_path / "my boat.png", tmp_path / "it's.png"
    for file in (plain, odd):
        file.write_bytes(b"x")
    escaped = str(plain).replace(" ", "\\ ")
    for given, meant in ((f"'{plain}'", plain), (f'"{plain}"', plain), (escaped, plain), (plain, plain), (odd, odd)):
        assert as_dropped(str(given)) == str(meant)
    assert as_dropped("none here.png") == "none here.png"
