"""Fixtures of the channels' tests: a workspace whose model repeats what it hears, on each engine, and a Telegram."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from everloom.loom import Workspace, open_loom
from everloom.settings import Settings
from tests.conftest import copy_store
from tests.patience import PATIENCE
from tests.surfaces.channels.telegram_stub import TelegramStub

Given = dict[str, Any]


def settings_for(folder: Path, **more: Given) -> Settings:
    """Settings with a model that repeats what it hears, and nothing outside a folder."""
    known: Given = {
        "workspace": {"time_zone": "UTC"},
        "llm": {"large": "scripted:echo"},
        "mind": {"notes": folder / "notes", "gather_seconds": 0},
    }
    for section, values in more.items():
        known[section] = known.get(section, {}) | values
    return Settings.model_validate(known)


@pytest.fixture
def place(store_url: str, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace that talks, on each engine."""
    with open_loom(store_url, settings=settings_for(tmp_path)) as loom:
        yield loom.workspace()


@pytest.fixture
def here(made_file: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace that talks, in a file: for what no engine can change."""
    copy_store(made_file, tmp_path)
    with open_loom(f"sqlite://{tmp_path}/loom.db", settings=settings_for(tmp_path)) as loom:
        yield loom.workspace()


@pytest.fixture
def stub() -> Iterator[TelegramStub]:
    """A Telegram."""
    with TelegramStub() as server:
        yield server


@pytest.fixture
def beside() -> Iterator[Callable[[Callable[[], object]], Event]]:
    """Run something in a thread beside the test; its Event is set when it ended."""
    started: list[Thread] = []

    def run(act: Callable[[], object]) -> Event:
        ended = Event()

        def whole() -> None:
            act()
            ended.set()

        thread = Thread(target=whole, daemon=True)
        started.append(thread)
        thread.start()
        return ended

    yield run
    for thread in started:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "what ran beside the test did not end"
