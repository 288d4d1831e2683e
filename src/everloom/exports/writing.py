"""Writing an export: workspaces of a store as a folder of markdown for people and JSONL for machines.

Each workspace is read in one snapshot, while others go on. Rows are in the order of their keys and hold no time of the
export, so that the same memory is the same bytes, whichever engine holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everloom import __version__
from everloom.clock import to_micros
from everloom.errors import Conflict
from everloom.exports.files import KeptFiles, finish_graphs, write_files
from everloom.exports.folder import Sink, new_folder, write_manifest
from everloom.exports.pages import write_front, write_pages
from everloom.exports.results import ExportReport, Told, say_nothing
from everloom.exports.rows import RowWriter
from everloom.exports.shape import CALIBRATION, LEFT_OUT, exported_columns, exported_tables, is_worth_keeping
from everloom.graph.files.disk import slug
from everloom.jsontext import to_json
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo
from everloom.loom import Loom
from everloom.store import Unit
from everloom.store.migrations import latest_version
from everloom.store.transfer import must_be_known

# How many rows are written between two words about it.
_ROUND = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What an export shall hold beside the rows."""

    vectors: bool = False
    files: bool = True
    with_secrets: bool = False
    pages: bool = True


@dataclass(slots=True)
class WrittenWorkspace:
    """A workspace that was written: its rows by table, its files, and what is damaged in it."""

    info: WorkspaceInfo
    folder: str
    counts: dict[str, int] = field(default_factory=dict)
    kept: KeptFiles = field(default_factory=lambda: KeptFiles({}, 0, ()))
    masked: int = 0
    damaged: tuple[str, ...] = ()


def write(
    loom: Loom,
    folder: str | Path,
    *,
    workspaces: Sequence[str] | None = None,
    vectors: bool = False,
    files: bool = True,
    with_secrets: bool = False,
    told: Told = say_nothing,
) -> ExportReport:
    """Write workspaces, by default all of them, to a new folder, which appears complete or not at all.

    Secrets that are recognised in rows are masked unless `with_secrets` keeps them; files are copied as they are.
    """
    infos = loom.workspaces.list() if workspaces is None else [loom.workspaces.get(name) for name in workspaces]
    wishes = ExportOptions(vectors=vectors, files=files, with_secrets=with_secrets)
    with new_folder(Path(folder)) as sink:
        if workspaces is None:
            _write_shared(loom, sink)
        done = [write_workspace(loom, info, sink, _folder_of(info, infos), wishes, told) for info in infos]
        write_front(sink, [each.info for each in done])
        manifest = {
            **writer_versions(),
            "exported_at": loom.clock.now().isoformat(),
            "scope": "store" if workspaces is None else "workspaces",
            "vectors": vectors,
            "files_included": files,
            "secrets": "kept" if with_secrets else "masked",
            "workspaces": [summary(each) for each in done],
        }
        write_manifest(sink, manifest)
    return ExportReport(
        Path(folder),
        "folder",
        {each.info.name: each.counts for each in done},
        len(sink.sums),
        sum(each.bytes for each in sink.sums.values()),
        sum(each.masked for each in done),
        tuple(path for each in done for path in each.kept.skipped),
        tuple(f"{row} of {each.info.name}" for each in done for row in each.damaged),
    )


def write_workspace(
    loom: Loom, info: WorkspaceInfo, sink: Sink, folder: str, wishes: ExportOptions, told: Told = say_nothing
) -> WrittenWorkspace:
    """Write one workspace below a folder of the export."""
    done = WrittenWorkspace(info, folder)
    if wishes.files and not loom.store.is_read_only:
        finish_graphs(loom, info)
    with loom.store.read(info.id) as unit:
        must_be_known(unit, loom.store.address)
        if wishes.files and next(iter(unit.rows_of("graph_intent")), None) is not None:
            hint = "try again; `everloom graph follow` finishes what was interrupted"
            raise Conflict(f"a graph of {info.name} is being written to", hint=hint)
        if wishes.files:
            # Inside the snapshot, so that a file is never older than what the rows say of it: files are the truth, and
            # whoever opens the graph follows them.
            done.kept = write_files(loom, info, sink, folder)
            told("files", done.kept.count)
        models = {row["id"]: (str(row["name"]), int(row["dim"])) for row in unit.all("vectors.model_all")}
        writer = RowWriter(models, vectors=wishes.vectors, with_secrets=wishes.with_secrets)
        for table in exported_tables(vectors=wishes.vectors):
            done.counts[table] = _write_table(unit, table, sink, f"{folder}/rows/{table}.jsonl", (writer, told))
        if wishes.pages:
            write_pages(unit, info, sink, folder, writer.mask)
    _write_json(sink, f"{folder}/workspace.json", _description(done))
    done.masked, done.damaged = writer.masked, tuple(writer.damaged)
    return done


def _write_table(unit: Unit, table: str, sink: Sink, path: str, way: tuple[RowWriter, Told]) -> int:
    writer, told = way
    rows = (row for row in unit.rows_of(table, in_order=True) if is_worth_keeping(table, row))
    first = next(rows, None)
    if first is None:
        return 0
    count = 0
    with sink.writing(path) as put:
        put(writer.line(table, first))
        for count, row in enumerate(rows, 1):
            put(writer.line(table, row))
            if count % _ROUND == 0:
                told(table, _ROUND)
    told(table, count % _ROUND + 1)
    return count + 1


def _write_shared(loom: Loom, sink: Sink) -> None:
    """Write what belongs to no workspace and cannot be made again without a model."""
    with loom.store.read(NOWHERE) as unit:
        rows = [{name: row[name] for name in exported_columns(CALIBRATION)} for row in unit.rows_of(CALIBRATION)]
    if rows:
        rows.sort(key=lambda row: str(row["model"]))
        with sink.writing(f"store/{CALIBRATION}.jsonl") as put:
            for row in rows:
                put((to_json(row, separators=(",", ":")) + "\n").encode())


def _description(done: WrittenWorkspace) -> dict[str, Any]:
    info = done.info
    return {
        "name": info.name,
        "description": info.description,
        "time_zone": info.time_zone,
        "created_at": to_micros(info.created_at),
        "histories": dict(sorted(done.kept.branches.items())),
        "left_out": dict(LEFT_OUT),
    }


def writer_versions() -> dict[str, Any]:
    """Say which program writes, and which schema it has."""
    return {"everloom_version": __version__, "schema_version": latest_version("sqlite")}


def summary(done: WrittenWorkspace) -> dict[str, Any]:
    """Describe a workspace for the manifest."""
    counts = {name: count for name, count in done.counts.items() if count}
    return {
        "name": done.info.name,
        "folder": done.folder,
        "rows": counts,
        "files": done.kept.count,
        "damaged": [*done.damaged],
    }


def _folder_of(info: WorkspaceInfo, infos: Sequence[WorkspaceInfo]) -> str:
    """Name the folder of a workspace for people; two names that look alike on a file system get a number."""
    alike = [each for each in infos if slug(each.name) == slug(info.name)]
    place = next(place for place, each in enumerate(alike) if each.id == info.id)
    return f"workspaces/{slug(info.name)}" + (f"_{place + 1}" if place else "")


def _write_json(sink: Sink, path: str, value: Mapping[str, Any]) -> None:
    with sink.writing(path) as put:
        put((to_json(value, indent=1) + "\n").encode())
