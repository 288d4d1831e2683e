"""The same values in what others write: graph files, imports, exports, replies of models, and what channels receive.

Each parser takes what it can read, says what it left out, or ends in a named error; the workspace works afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from everloom.errors import EverloomError, meaning_of
from everloom.exports import read, write
from everloom.graph.files.parser import parse_bytes
from everloom.imports import take_in
from everloom.loom import Workspace
from everloom.mind import IncomingMessage
from everloom.models.shape import Misfit, fit, strict_schema
from everloom.surfaces.channels.services.formats import as_html, as_text
from everloom.surfaces.channels.services.letters import read_letter
from everloom.surfaces.channels.telegram.reading import read_message
from tests.graph.sample import FILES
from tests.hostile import corpus
from tests.hostile.conftest import Making
from tests.hostile.corpus import Hostile
from tests.hostile.ground import WITHOUT_COMMITS, World
from tests.hostile.health import complaints
from tests.imports import exports, transcripts

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.promise("hostile.parsers"),
    pytest.mark.filterwarnings("ignore:recognised and"),
]

Count = Callable[[str, object], None]
# Of the places of a sample times the values, one in so many.
_SHARE = 11
_TEXTS = [Hostile(name, text) for name, text in corpus.TEXTS.items()]
_PATTERNS = [Hostile(name, corpus.repeated(pattern, 20_000)) for name, pattern in corpus.PATTERNS.items()]


def _faults(what: str, cases: Iterable[Hostile], act: Callable[[Any], object]) -> tuple[list[str], int]:
    """Do the same with each case; list those that do not end in a result or a named error, and count all."""
    wrong: list[str] = []
    count = 0
    for each in cases:
        count += 1
        try:
            act(each.value)
        except Misfit:
            continue
        except EverloomError as error:
            if meaning_of(error).http_status == 500:
                wrong.append(f"{what}({each.name}): {type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001  this is what is looked for
            wrong.append(f"{what}({each.name}): {type(error).__name__}: {str(error)[:200]}")
    return wrong, count


def _assert_fine(wrong: list[str], world: World | None = None) -> None:
    found = [*map(str, wrong)] + (complaints(world.place, world.url, world.folder) if world else [])
    assert not found, "\n".join([f"{len(found)} faults", *found])


def _lists(name: str, *samples: Any) -> tuple[str, list[Any]]:
    values = corpus.json_values()
    return name, [each.value for one in samples for each in corpus.variants(one, values, _SHARE)]


# What each format holds many of, so that one file brings all of its variants: a list in JSON, or lines.
_LISTS = {
    "chatgpt": [exports.chatgpt_conversation()],
    "claude-ai": [exports.claude_ai_conversation()],
    "locomo": exports.locomo_samples(),
}
_LINES = {
    "claude-code": transcripts.claude_transcript(),
    "codex": transcripts.codex_rollout(),
    "server-memory": exports.server_memory(),
}


@pytest.mark.parametrize("kind", [*_LISTS, *_LINES, "mem0"])
def test_an_import_takes_what_it_can_read(
    kind: str, make_world: Making, record_property: Count, tmp_path: Path
) -> None:
    world = make_world("sqlite", WITHOUT_COMMITS)
    cases = list(_import_cases(kind, tmp_path))
    wrong, _ = _faults(f"import {kind}", cases, lambda path: take_in(world.place, path, kind=kind))
    record_property("hostile files to import", len(cases))
    _assert_fine(wrong, world)


def _import_cases(kind: str, folder: Path) -> Iterator[Hostile]:
    values = corpus.json_values()
    known = {**_LISTS, **_LINES, "mem0": [exports.mem0_results()]}[kind]
    made = [each for one in known for each in corpus.variants(one, values, _SHARE)]
    suffix = "jsonl" if kind in _LINES else "json"

    def file(name: str, data: bytes) -> Hostile:
        path = folder / f"{name}.{suffix}"
        path.write_bytes(data)
        return Hostile(name, path)

    # All of one kind in one file, then some alone, so that what one of them stops is seen.
    whole = [each.value for each in made]
    text = "\n".join(map(json.dumps, whole)) if kind in _LINES else json.dumps(whole)
    yield file("all", text.encode())
    for number, each in enumerate(made[::_SHARE]):
        yield file(f"one {number}", json.dumps([each.value] if kind in _LISTS else each.value).encode())
    usual = json.dumps(known if kind != "mem0" else known[0]).encode()
    yield file("half", usual[: len(usual) // 2])
    yield file("no text", b"\xff\xfe\x00" + usual)
    yield file("deep", b"[" * 100_000)
    yield file("deep inside", b'[{"mapping": ' + b'{"a":' * 50_000)
    yield file("empty", b"")


def test_files_of_a_graph_are_indexed_or_named(make_world: Making, record_property: Count) -> None:
    sample = next(iter(FILES.values()))
    head, _, body = sample.removeprefix("---\n").partition("\n---\n")
    fields = [line.partition(":")[0] for line in head.splitlines() if line[:1].isalpha()]
    cases = [
        Hostile(f"{name}: {each.name}", _with_field(head, name, each.value) + f"\n---\n{body}")
        for name in fields
        for each in (*_TEXTS, *(Hostile(key, json.dumps(value, default=str)) for key, value in corpus.WRONG.items()))
    ]
    cases += [Hostile(f"body: {each.name}", f"---\n{head}\n---\n{each.value}") for each in (*_TEXTS, *_PATTERNS)]
    cases += [Hostile(f"all: {each.name}", each.value) for each in (*_TEXTS, *_PATTERNS)]
    wrong, count = _faults("graph file", cases, lambda text: parse_bytes("graph/fixes/a-123456.md", _encoded(text)))
    world = make_world("sqlite", WITHOUT_COMMITS)
    root = next(world.folder.glob("world 1/data/**/graph")) / "fixes"
    root.mkdir(exist_ok=True)
    for number, each in enumerate(cases[::9]):
        (root / f"note {number}.md").write_bytes(_encoded(each.value))
    for number, name in enumerate(_file_names()):
        (root / name).write_text(f"A note about boat {number}.")
    wrong += _faults("graph", [Hostile("reindex", None)], lambda _: world.place.graph.reindex())[0]
    record_property("hostile graph files", count + len(cases[::9]))
    _assert_fine(wrong, world)


def _with_field(head: str, name: str, value: str) -> str:
    lines = [f"{name}: {value}" if line.startswith(f"{name}:") else line for line in head.splitlines()]
    return "---\n" + "\n".join(lines)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _file_names() -> Iterator[str]:
    """List names that a file system takes and a person would not give."""
    for text in corpus.TEXTS.values():
        name = text.replace("/", "_").replace("\0", "_")[:80]
        if name.strip(". ") and not any("\ud800" <= each <= "\udfff" for each in name):
            yield f"{name}.md"


def test_rows_of_an_export_are_read_or_refused(make_world: Making, record_property: Count, tmp_path: Path) -> None:
    world = make_world("sqlite", WITHOUT_COMMITS)
    folder = tmp_path / "export"
    write(world.place.loom, folder, workspaces=[world.place.name])
    wrong: list[str] = []
    count = 0
    values = corpus.json_values()
    for number, file in enumerate(sorted(folder.rglob("rows/*.jsonl"))):
        if not (lines := file.read_text(encoding="utf-8").splitlines()):
            continue
        made = list(corpus.variants(json.loads(lines[0]), values))
        cases = [made[(number * 37 + step) % len(made)] for step in range(0, len(made), max(1, len(made) // 2))]

        def take(row: Any, file: Path = file, lines: list[str] = lines) -> None:
            before = file.read_bytes()
            try:
                _reseal(folder, file, "\n".join([json.dumps(row), *lines[1:], ""]).encode())
                read(world.place.loom, folder, as_name=f"taken {file.stem} {hash(str(row)) % 10**6}")
            finally:
                _reseal(folder, file, before)

        found, more = _faults(f"export {file.stem}", cases, take)
        wrong, count = wrong + found, count + more
    record_property("hostile rows of exports", count)
    _assert_fine(wrong, world)


def _reseal(folder: Path, file: Path, data: bytes) -> None:
    """Change a file, and its sum, as somebody would who wants it to be read."""
    file.write_bytes(data)
    manifest = folder / "manifest.json"
    known = json.loads(manifest.read_text(encoding="utf-8"))
    known["files"][file.relative_to(folder).as_posix()] = {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
    manifest.write_text(json.dumps(known), encoding="utf-8")


def _shapes() -> list[type[BaseModel]]:
    """List what models are asked for."""
    from everloom.episodic.patrol.clustering import SplitAnswer
    from everloom.episodic.patrol.consolidation import ConsolidationAnswer
    from everloom.episodic.patrol.diary import ReflectionAnswer
    from everloom.episodic.patrol.intake import ClassifyAnswer
    from everloom.episodic.patrol.reflection import FeelingsAnswer
    from everloom.episodic.story.retelling import RetellingReply
    from everloom.graph.pages.insights import InsightReply
    from everloom.mind.initiative.heartbeat import Wish
    from everloom.mind.learning.proposal import FactProposal
    from everloom.semantic.recall.judging import JudgementReply

    patrol: list[type[BaseModel]] = [SplitAnswer, ConsolidationAnswer, ClassifyAnswer, FeelingsAnswer, ReflectionAnswer]
    return [*patrol, RetellingReply, InsightReply, Wish, FactProposal, JudgementReply]


def test_replies_of_models_fit_or_are_called_malformed(record_property: Count) -> None:
    wrong: list[str] = []
    count = 0
    for shape in _shapes():
        sample = _sample_of(strict_schema(shape), strict_schema(shape))
        made = list(corpus.variants(sample, corpus.json_values()))
        cases = [Hostile(each.name, json.dumps(each.value)) for each in made] + _TEXTS + _PATTERNS
        found, more = _faults(f"reply {shape.__name__}", cases, lambda text, shape=shape: fit(text, shape))  # type: ignore[misc]
        wrong, count = wrong + found, count + more
    record_property("hostile replies of models", count)
    _assert_fine(wrong)


def _sample_of(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Make JSON that a schema describes."""
    if "$ref" in schema:
        return _sample_of(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in schema:
        return _sample_of(schema["anyOf"][0], whole)
    if schema.get("type") == "object":
        return {name: _sample_of(each, whole) for name, each in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [_sample_of(schema.get("items", {}), whole)]
    plain: dict[str, Any] = {"integer": 1, "number": 0.5, "boolean": True, "null": None}
    return schema["enum"][0] if "enum" in schema else plain.get(schema.get("type", ""), "James")


def test_what_a_model_gives_to_the_tools_of_a_conversation_is_taken_or_refused(
    make_world: Making, record_property: Count
) -> None:
    world = make_world("postgresql", WITHOUT_COMMITS)
    wrong: list[str] = []
    count = 0
    values = corpus.json_values()
    for number, each in enumerate(world.place.mind.tools()):
        sample = _sample_of(each.tool.schema, each.tool.schema)
        made = list(corpus.variants(sample, values))
        cases = made[number % 5 :: 5]
        found, more = _faults(f"tool {each.tool.name}", cases, each.use)
        wrong, count = wrong + found, count + more
    record_property("hostile inputs of tools", count)
    _assert_fine(wrong, world)


_TELEGRAM = {
    "message_id": 1,
    "date": 1_763_000_000,
    "chat": {"id": 7, "type": "private"},
    "from": {"id": 7, "first_name": "Ann"},
    "text": "Hello",
    "caption": "A boat",
    "reply_to_message": {"text": "Earlier", "from": {"first_name": "Bo"}},
    "quote": {"text": "Earlier"},
    "forward_origin": {"type": "user", "date": 1, "sender_user": {"first_name": "Bo"}},
    "photo": [{"file_id": "a", "file_size": 10, "width": 1, "height": 1}],
    "document": {"file_id": "b", "file_name": "a.pdf", "file_size": 10},
    "voice": {"file_id": "c", "duration": 3, "file_size": 10},
    "sticker": {"file_id": "d", "emoji": "x"},
    "location": {"latitude": 1.5, "longitude": 2.5},
    "venue": {"title": "Harbour", "address": "Quay 1", "location": {"latitude": 1.5, "longitude": 2.5}},
    "contact": {"first_name": "Bo", "phone_number": "123"},
    "poll": {"question": "Why?", "options": [{"text": "a", "voter_count": 1}]},
    "dice": {"emoji": "x", "value": 3},
}
_LETTER = "From: a@example.org\nSubject: {}\nMessage-ID: <{}>\nContent-Type: text/{}\n\n{}"


def test_what_channels_receive_is_taken_or_refused(make_world: Making, record_property: Count) -> None:
    world = make_world("sqlite", WITHOUT_COMMITS)
    made = list(corpus.variants(_TELEGRAM, corpus.json_values()))
    wrong, count = _faults("telegram", made, read_message)
    texts = [*_TEXTS, *_PATTERNS]
    for name, act in (
        ("letter", lambda text: read_letter(_encoded(_LETTER.format(text, text, "plain", text)))),
        ("letter in HTML", lambda text: read_letter(_encoded(_LETTER.format("a", "b", "html", text)))),
        ("letter alone", lambda text: read_letter(_encoded(text))),
        ("to HTML", as_html),
        ("to text", as_text),
        ("message", lambda text: _receive(world.place, text)),
    ):
        found, more = _faults(name, texts, act)
        wrong, count = wrong + found, count + more
    record_property("hostile messages of channels", count)
    _assert_fine(wrong, world)


def _receive(place: Workspace, text: str) -> None:
    """Take a message as a channel hands it over, with the text in every place."""
    key = sha256(_encoded(text)).hexdigest()
    place.mind.conversation.take(IncomingMessage(text=text, channel="http", key=key))
    place.mind.conversation.take(
        IncomingMessage(text="Hello", channel="http", address=text, key=f"{key} b", sender=text, quote=text)
    )
