"""Large files in bounded memory, and imports that are killed and go on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from everloom.errors import Rejected
from everloom.imports import ImportProgress, take_in
from everloom.imports.reading.arrays import json_elements
from everloom.loom import Workspace
from tests.imports.exports import chatgpt_conversation
from tests.imports.memory import turns
from tests.imports.transcripts import claude_line, write_lines
from tests.store.ground import open_at

WORDS = "tide harbour keel rope gull lamp fog chart mast anchor sail crew ".split()
# Forks importers, and kills each at a moment that nobody chose; forking spares them the time to load everything. None
# goes on behind its second progress before it is killed, however long the machine keeps the killer waiting.
KILLING = """
import os, random, signal, sys, time
from everloom.clock import SystemClock
from everloom.imports import take_in
from everloom.models.embed import EmbeddingTask
from everloom.models.static import multilingual as static
from tests.store.ground import open_at
shared = static.MultilingualStaticEmbedder()
shared.embed(["loaded"], EmbeddingTask.DOCUMENT)
static.MultilingualStaticEmbedder = lambda: shared
chance = random.Random(7)
for _ in range(int(sys.argv[3])):
    (heard, said), (waits, goes_on) = os.pipe(), os.pipe()
    os.write(goes_on, b".")
    child = os.fork()
    if child == 0:
        with open_at(sys.argv[1], SystemClock()) as loom:
            take_in(
                loom.workspace("james"), sys.argv[2], progress=lambda now: (os.write(said, b"."), os.read(waits, 1))
            )
        os._exit(0)
    os.read(heard, 1)
    time.sleep(chance.uniform(0, 0.15))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
WEIGHED = """
import resource, sys
from everloom.imports.formats import FORMATS
from everloom.imports.records import Part
from pathlib import Path
(part,) = (each for each in FORMATS["chatgpt"].parts(Path(sys.argv[1])) if isinstance(each, Part))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(len(step.records) for step in FORMATS["chatgpt"].read(part, 0))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def transcript(path: Path, count: int) -> Path:
    return write_lines(path, [claude_line(n, "user", f"{WORDS[n % 12]} number {n} of {count}") for n in range(count)])


@pytest.mark.promise("import.survives-killing")
def test_an_import_that_is_killed_goes_on_and_neither_loses_nor_doubles_a_turn(store_url: str, tmp_path: Path) -> None:
    file, count = transcript(tmp_path / "t.jsonl", 1_500), 1_500
    subprocess.run([sys.executable, "-c", KILLING, store_url, str(file), "4"], check=True, cwd=os.getcwd())
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        before = len(turns(place))
        report = take_in(place, file)
        found = [text for text, _ in turns(place)]
    assert 0 < before < count
    # What was stored before is not even read again: its position was stored with it.
    assert (report.taken, report.known) == (count - before, 0)
    assert found == [f"User: {WORDS[n % 12]} number {n} of {count}" for n in range(count)]


def write_large(path: Path, megabytes: int) -> int:
    """Write an export of ChatGPT; return how many conversations it holds."""
    count, padding = 0, " ".join(WORDS * 400)
    with path.open("w") as file:
        file.write("[")
        while file.tell() < megabytes * 1024 * 1024:
            file.write(("," if count else "") + json.dumps(chatgpt_conversation(f"c{count}", f"{count} {padding}")))
            count += 1
        file.write("]")
    return count


@pytest.mark.promise("import.bounded-memory")
@pytest.mark.parametrize("megabytes", [24, pytest.param(200, marks=pytest.mark.long)])
def test_a_large_export_is_read_in_bounded_memory(megabytes: int, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    count = write_large(file, megabytes)
    ended = subprocess.run(
        [sys.executable, "-c", WEIGHED, str(file)], capture_output=True, text=True, check=True, cwd=os.getcwd()
    )
    read, grown = map(int, ended.stdout.split())
    assert read == 3 * count
    # In kilobytes: a few pieces and one conversation, whatever the size of the file.
    assert grown < 12 * 1024


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_elements_are_read_from_any_pieces_and_from_behind_any_of_them(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everloom.imports.reading.arrays._PIECE", size)
    values = [{"a": 'é😀\\"'}, [1, [2, {}]], "text, ] with [", -1.5, None, {"deep": {"er": ["x"] * 50}}]
    data = ("\ufeff [ " + " ,\n".join(json.dumps(each, ensure_ascii=False) for each in values) + " ] ").encode()
    found = list(json_elements(io.BytesIO(data)))
    assert [each.value for each in found] == values
    for place, each in enumerate(found):
        assert [after.value for after in json_elements(io.BytesIO(data), each.end)] == values[place + 1 :]
    for end in (len(data) - 3, len(data) // 2, 12):
        with pytest.raises(Rejected):
            list(json_elements(io.BytesIO(data[:end])))
    assert list(json_elements(io.BytesIO(b"  "))) == []
    assert [each.value for each in json_elements(io.BytesIO(b' {"one": 1}'))] == [{"one": 1}]


def test_progress_is_told_and_grows(workspace: Workspace, tmp_path: Path) -> None:
    told: list[ImportProgress] = []
    file = transcript(tmp_path / "t.jsonl", 450)
    take_in(workspace, file, progress=told.append)
    assert [each.position for each in told] == sorted(each.position for each in told)
    assert (told[-1].position, told[-1].size, told[-1].taken) == (file.stat().st_size, file.stat().st_size, 450)
