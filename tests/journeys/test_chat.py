"""A sitting at the terminal goes well, and the page shows it as it was."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.journeys.chat import KEY, PAGE, THOUGHT, recorded


@pytest.mark.promise("mind.chat", "mind.secrets")
def test_the_page_shows_a_sitting_as_it_was_and_nothing_leaks(tmp_path: Path) -> None:
    page = recorded(tmp_path)
    assert page == PAGE.read_text(encoding="utf-8"), "python -m tests.journeys.chat writes the page anew"
    (history,) = (tmp_path / "data" / "everloom").rglob("chat_history")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "Audrey and I sail on Sunday." in history.read_text()
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for secret in (KEY, THOUGHT):
        assert secret.encode() not in kept
        assert secret not in page
