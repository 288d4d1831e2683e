"""The markdown of an export, for people: a page for each subject, and one for what happened, what was kept and said.

Everything here can be read in the rows, too; an import ignores it. Stored texts are quoted, so that none of them can
look like a heading of ours. Pages are written as they are read: a large memory needs no more room than a small one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from everloom.clock import from_micros, shown
from everloom.exports.folder import Sink
from everloom.graph.files.disk import slug
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Row, Unit

Mask = Callable[[str], str]
Put = Callable[[bytes], None]
_PAGE = 500
_ABOUT = """# A memory, exported by everloom

`workspaces/` has a folder for each workspace:

- `reading/`: pages for people, in markdown. Nothing is lost if you delete them.
- `rows/`: everything, one JSONL file for each table, for programs.
- `files/`: graphs, notes, attachments as they are on disk; `*.bundle` is a graph's history (`git clone FILE.bundle`).
- `workspace.json`: the name, description and time zone of the workspace.

`manifest.json` has the SHA-256 of every file. `everloom import FOLDER` brings everything back, into any store. The
format is described in everloom's `docs/export.md`. Whoever has this folder has the memory: keep it like a diary.
"""


def write_front(sink: Sink, infos: Sequence[WorkspaceInfo]) -> None:
    """Write what somebody reads who finds the folder."""
    lines = [f"- {_inline(info.name)}: {_inline(info.description) or 'no description'}" for info in infos]
    with sink.writing("README.md") as put:
        put((_ABOUT + "\n## Workspaces\n\n" + "\n".join(lines) + "\n").encode())


def write_pages(unit: Unit, info: WorkspaceInfo, sink: Sink, folder: str, mask: Mask) -> None:
    """Write the pages of a workspace."""
    pages = _Pages(unit, info, sink, f"{folder}/reading", mask)
    pages.subjects()
    pages.together("understandings.md", "What is understood", "exports.understanding_page", _understanding)
    pages.together("observations-without-subject.md", "Without a subject", "exports.lone_page", _observation)
    pages.together("scenes.md", "What happened", "exports.scene_page", _scene)
    pages.together("entries.md", "What is kept: diary, rules, knowledge", "exports.entry_page", _entry)
    pages.together("conversation.md", "What was said", "exports.message_page", _message)


class _Pages:
    """Writes pages from one snapshot of a workspace."""

    def __init__(self, unit: Unit, info: WorkspaceInfo, sink: Sink, folder: str, mask: Mask) -> None:
        self._unit = unit
        self._info = info
        self._sink = sink
        self._folder = folder
        self._mask = mask

    def subjects(self) -> None:
        """Write a page for each subject."""
        for subject in paged(self._unit, "exports.subject_page"):
            path = f"{self._folder}/subjects/{slug(subject['name'])}-{subject['id']}.md"
            with self._sink.writing(path) as put:
                self._subject(put, subject)

    def _subject(self, put: Put, subject: Row) -> None:
        names = [row["name"] for row in self._unit.all("exports.name_all", subject=subject["id"])]
        tags = [row["tag"] for row in self._unit.all("exports.tag_all", subject=subject["id"])]
        self._say(put, f"# {_inline(subject['name'])}\n\n")
        for label, found in (("Also called", names), ("Tags", tags)):
            if found:
                self._say(put, f"{label}: {', '.join(map(_inline, found))}\n\n")
        if subject["summary"]:
            self._say(put, f"{quoted(subject['summary'])}\n\n")
        for label, text in (("What is understood", subject["single"]), ("How it is built", subject["structural"])):
            if text:
                self._say(put, f"## {label}\n\n{quoted(text)}\n\n")
        rows = paged(self._unit, "exports.observation_page", subject=subject["id"])
        for place, row in enumerate(rows):
            self._say(put, ("" if place else "## Observations\n\n") + _observation(self._info, row))

    def together(
        self, name: str, title: str, statement: str, told: Callable[[WorkspaceInfo, Mapping[str, Any] | Row], str]
    ) -> None:
        """Write rows of one kind on one page, if there are any."""
        rows = paged(self._unit, statement)
        first = next(rows, None)
        if first is None:
            return
        with self._sink.writing(f"{self._folder}/{name}") as put:
            self._say(put, f"# {title}\n\n" + told(self._info, first))
            for row in rows:
                self._say(put, told(self._info, row))

    def _say(self, put: Put, text: str) -> None:
        put(self._mask(text).encode())


def paged(unit: Unit, statement: str, **params: int) -> Iterator[Row]:
    """Read rows in the order of their ids, a page at a time."""
    after = 0
    while rows := unit.all(statement, after=after, limit=_PAGE, **params):
        yield from rows
        after = rows[-1]["id"]


def quoted(text: str) -> str:
    """Quote a text, line by line."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) or ">"


def _inline(text: str) -> str:
    """Write a short text on one line."""
    return " ".join(text.split())


def _when(info: WorkspaceInfo, micros: int) -> str:
    return shown(from_micros(micros), info.zone)


def _observation(info: WorkspaceInfo, row: Mapping[str, Any] | Row) -> str:
    ended = "" if row["superseded_at"] is None else f" · held until {_when(info, row['superseded_at'])}"
    head = " · ".join(filter(None, (_when(info, row["happened_at"]), f"#{row['id']}", row["kind"], row["origin"])))
    return f"{_inline(head)}{ended}\n\n{quoted(row['text'])}\n\n"


def _understanding(info: WorkspaceInfo, row: Mapping[str, Any] | Row) -> str:
    title = _inline(row["title"]) or str(row["kind"]).replace("_", " ")
    head = f"{_when(info, row['happened_at'])} · #{row['id']} · {row['kind']}"
    return f"## {title}\n\n{head}\n\n{quoted(row['text'])}\n\n"


def _scene(info: WorkspaceInfo, row: Mapping[str, Any] | Row) -> str:
    themes = ", ".join(json.loads(row["themes"])) if row["themes"].startswith("[") else row["themes"]
    head = f"{_when(info, row['happened_at'])} · #{row['id']} · {row['status']} · importance {row['importance']:.2f}"
    feeling = f"\n{quoted(row['feeling'])}\n" if row["feeling"] else ""
    return f"{head}{' · ' + _inline(themes) if themes else ''}\n\n{quoted(row['action'])}\n{feeling}\n"


def _entry(info: WorkspaceInfo, row: Mapping[str, Any] | Row) -> str:
    title = _inline(row["title"] or row["entry_key"])
    head = f"{_when(info, row['updated_at'])} · #{row['id']} · {row['target']}"
    return f"## {title}\n\n{head}\n\n{quoted(row['content'])}\n\n"


def _message(info: WorkspaceInfo, row: Mapping[str, Any] | Row) -> str:
    who = "agent" if row["direction"] == "out" else "person"
    return f"{_when(info, row['at'])} · #{row['id']} · {who} · {_inline(row['channel'])}\n\n{quoted(row['text'])}\n\n"


def pairs(unit: Unit) -> Iterator[Row]:
    """Read the pairs of subjects that share something, a page at a time."""
    after = beside = 0
    while rows := unit.all("exports.relation_page", after=after, beside=beside, limit=_PAGE):
        yield from rows
        after, beside = rows[-1]["subject_a"], rows[-1]["subject_b"]
