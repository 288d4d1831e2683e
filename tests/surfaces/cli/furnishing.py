"""Places for commands to be tried in: a memory, files and settings with all that the commands of one sort need."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from everloom.surfaces.cli.runtime import apart
from tests.patience import PATIENCE
from tests.surfaces.cli.conftest import command_line, filled, variables_in
from tests.surfaces.cli.knowing import KNOWING, known
from tests.surfaces.cli.living import BEING, WEAVING, lived, woven
from tests.surfaces.cli.talking import TALKING, talked

Furnished = Callable[[str], tuple[Path, dict[str, object]]]

TALK = {
    "sample_id": "one",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"dia_id": "D1:1", "speaker": "James", "text": "I sail."}],
    },
    "qa": [{"question": "Who sails?", "category": 1, "evidence": ["D1:1"]}],
}


def at(folder: Path) -> str:
    """The address of the store in a place."""
    return f"sqlite://{folder}/loom.db"


def furnish(folder: Path, path: str) -> dict[str, object]:
    """Put into a place all that the commands of one sort need; give the ids of it."""
    url = at(folder)
    call = command_line(variables_in(folder), url)
    (item,) = filled(url, "James sails.")
    call("backup", f"{folder}/kept.db")
    call("token", "create", "old")
    (folder / "talk.json").write_text(json.dumps([TALK]))
    (folder / "own.jsonl").write_text('{"question": "Who sails?", "phrases": ["James"]}')
    ids: dict[str, object] = {"id": item, **(known(url, folder) if path in KNOWING else {})}
    ids |= lived(call, folder) if path in BEING else {}
    ids |= woven(call, folder) if path in WEAVING else {}
    ids |= talked(url, folder) if path in TALKING else {}
    return ids


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Furnished:
    """Furnish the place for a command, once for each sort of them: furnishing takes longer than most commands.

    It is always the same place, for a graph is known by its folder; whatever a command left there is removed.
    """
    here, kept = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("kept")
    made: dict[str, dict[str, object]] = {}

    def again(path: str) -> tuple[Path, dict[str, object]]:
        # A job goes on in a process of its own.
        for process in apart._away:
            process.wait(PATIENCE)
        shutil.rmtree(here)
        sort = "".join(str(path in each) for each in (KNOWING, BEING, WEAVING, TALKING))
        if sort in made:
            shutil.copytree(kept / sort, here, symlinks=True)
        else:
            here.mkdir()
            made[sort] = furnish(here, path)
            shutil.copytree(here, kept / sort, symlinks=True)
        return here, dict(made[sort])

    return again
