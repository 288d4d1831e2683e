"""`everloom migrate`, `backup`, `restore`, `separate` and `store distribute`: the store as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloom.errors import EverloomError, NotFound, Rejected
from everloom.surfaces.cli.runtime.command import Command, Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, fields_of
from everloom.wiring.wire.protocol import is_remote

if TYPE_CHECKING:
    from everloom.store.statements import Engine

_File = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class _Schema:
    """The schema of a store compared with what this program expects, and what a migration would mean for others.

    `waiting` are steps that `everloom migrate` runs once no older program has the store open. `is_large` says that the
    store is not copied before a step that stops others.
    """

    engine: Engine
    address: str
    version: int
    expected: int
    exists: bool = True
    steps: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    bytes_used: int = 0
    stops_others: bool = False
    is_large: bool = False

    @property
    def line(self) -> str:
        """Describe it for a person."""
        if not self.exists:
            return f"{self.address} does not exist yet; it will be created with schema {self.expected}"
        if self.steps:
            return f"{self.address} has schema {self.version}; missing: {', '.join(self.steps)}"
        if self.waiting:
            return f"{self.address} has schema {self.version}; still to be removed: {', '.join(self.waiting)}"
        return f"{self.address} has schema {self.version}: nothing to do"

    @property
    def lines(self) -> list[str]:
        """Describe it, and say what to do first."""
        return [self.line, *(_advice(self) if self.stops_others else ())]


def _advice(schema: _Schema) -> Iterator[str]:
    """Say what happens to others, and what to back up."""
    yield "other processes stop with an error and must be restarted with this version of everloom"
    size = f"the tables ({schema.bytes_used / 2**20:,.0f} MB)"
    if not schema.is_large:
        yield f"{size} are first copied into another schema of the database"
        return
    yield f"{size} are too large to be copied first; stop the servers and back up, either:"
    yield "  the database: `pg_dump --format=custom`, as a role that row-level security does not bind; or a snapshot"
    yield "  then run `everloom migrate --without-backup`"
    yield "or the store: `everloom backup FILE`, with the version of everloom that wrote it"
    yield "  then run `everloom migrate --backup FILE`, which compares both"


def schema_of(url: str) -> _Schema:
    """Read the schema version of a store without opening it for writing; a newer one than ours is refused."""
    from everloom.store.address import engine_of, sqlite_path  # noqa: PLC0415  loads the store
    from everloom.store.migrations import latest_version, missing_steps  # noqa: PLC0415

    if is_remote(url):
        hint = "run this where `everloom serve` runs"
        raise Rejected(f"{url} is a server; its store cannot be looked at from here", hint=hint)
    if engine_of(url) == "postgresql":
        return _schema_of_server(url)
    from everloom.store.sqlite.opening import read_versions  # noqa: PLC0415

    path = sqlite_path(url)
    exists = path.exists()
    version, oldest = read_versions(path) if exists else (0, None)
    steps = tuple(str(step) for step in missing_steps("sqlite", version, str(path), oldest))
    return _Schema("sqlite", str(path), version, latest_version("sqlite"), exists, steps)


def _schema_of_server(url: str) -> _Schema:
    from everloom.store.address import engine_missing, redact  # noqa: PLC0415  loads the store
    from everloom.store.migrations import latest_version  # noqa: PLC0415

    try:
        from everloom.store.postgresql.migrating import survey  # noqa: PLC0415
        from everloom.store.postgresql.safety import COPIED_BYTES  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise engine_missing(error) from error
    found = survey(url)
    return _Schema(
        "postgresql",
        redact(url),
        found.version,
        latest_version("postgresql"),
        exists=found.version > 0,
        steps=tuple(map(str, found.needed)),
        waiting=tuple(map(str, found.waiting)),
        bytes_used=found.bytes_used,
        stops_others=found.stops_others and found.version > 0,
        is_large=found.holds_anything and found.bytes_used > COPIED_BYTES,
    )


@click.command(cls=Command)
@click.option("--check", is_flag=True, help="Only show what would be done.")
@click.option(
    "--backup",
    type=_File,
    help="PostgreSQL: do not copy the tables first, but compare the store with this file of `everloom backup`.",
)
@click.option("--without-backup", is_flag=True, help="PostgreSQL: copy nothing first; you have a backup of your own.")
def migrate(invocation: Invocation, check: bool, backup: Path | None, without_backup: bool) -> Answer:
    """Migrate the store to this version's schema."""
    settings = invocation.settings_here()
    before = schema_of(settings.store.url)
    if check:
        return Answer(before, before.lines)
    waits: tuple[str, ...] = ()
    if before.engine == "postgresql" and not settings.store.read_only:
        from everloom.clock import SystemClock  # noqa: PLC0415  loads the store
        from everloom.store.postgresql.migrating import migrate as run  # noqa: PLC0415
        from everloom.store.postgresql.safety import Safety  # noqa: PLC0415

        waits = run(settings.store.url, SystemClock(), Safety(backup, without_backup))
    with invocation.open(settings) as loom:
        version = loom.store.health().schema_version
    result = {**fields_of(before), "migrated": version != before.version, "version": version, "before": before.version}
    return Answer({**result, "waits": waits}, [f"{before.address} has schema {version}", *waits])


@click.command(cls=Command)
@click.argument("target", type=_File)
def backup(invocation: Invocation, target: Path) -> Answer:
    """Copy the store to a new file."""
    settings = invocation.settings_here()
    found = schema_of(settings.store.url)
    # Opening would create an empty store, and the backup would look like a success.
    if not found.exists:
        raise NotFound(
            f"there is no store at {found.address}", hint="`everloom config` shows which store is configured"
        )
    with invocation.open(settings) as loom:
        loom.store.backup(target)
    size = target.stat().st_size
    result = {"source": found.address, "target": str(target), "bytes": size}
    return Answer(result, [f"{found.address} → {target} ({size:,} bytes)"])


@click.command(cls=Command)
@click.argument("source", type=_File)
@click.option("--force", is_flag=True, help="Also replace a store that is not empty.")
@click.option(
    "--wait",
    type=click.FloatRange(0),
    metavar="SECONDS",
    default=0.0,
    help="Wait so long for other processes that have the store open.",
)
def restore(invocation: Invocation, source: Path, force: bool, wait: float) -> Answer:
    """Restore the store from a backup.

    The backup becomes a new store, which takes the place of the old one in a single step. The old one is kept.
    """
    from everloom.clock import SystemClock  # noqa: PLC0415  loads the store
    from everloom.store import redact, transfer  # noqa: PLC0415
    from everloom.store.engine import refuse_write  # noqa: PLC0415

    # The store is not opened as usual: that would create or migrate what is about to be replaced.
    known = invocation.settings_here().store
    url = known.url
    if known.read_only:
        raise refuse_write(redact(url))
    report = transfer.restore(source, url, SystemClock(), force=force, wait=wait)
    lines = [f"{source} → {redact(url)}: {report.rows:,} rows in {', '.join(report.workspaces) or 'no workspace'}"]
    if report.former:
        lines.append(f"the previous data is in {report.former}")
    failure = None
    if report.damaged:
        lines += report.damaged
        failure = EverloomError("the backup was restored, but some of it is damaged", hint="it is listed above")
    return Answer({"source": str(source), "target": redact(url), **fields_of(report)}, lines, failure)


@click.command(cls=Command)
def separate(invocation: Invocation) -> Answer:
    """Make a copied database a store of its own.

    A copy of a database file would share the directories of the original's graphs and notes, and is refused there. This
    gives it an identity of its own and copies of these files. The original is not touched.
    """
    settings = invocation.settings_here()
    found = schema_of(settings.store.url)
    if not found.exists:
        raise NotFound(
            f"there is no store at {found.address}", hint="`everloom config` shows which store is configured"
        )
    with invocation.open(settings) as loom:
        done = loom.places.separate()
    lines = [f"{found.address} is a store of its own now; it was a copy of {done.original}"]
    lines += [f"copied: {each}" for each in done.copied]
    lines += [f"not copied, and still the original's: {each}" for each in done.kept]
    return Answer(done, lines)


@click.group(cls=Group)
def store() -> None:
    """Spread a store over the nodes of a PostgreSQL cluster."""


@store.command
def distribute(invocation: Invocation) -> Answer:
    """Spread the tables over the nodes of a Citus cluster, each workspace whole on one node.

    Give the coordinator's address. Afterwards, programs may use the address of any node. Doing it again adds what is
    missing.
    """
    from everloom.clock import SystemClock  # noqa: PLC0415  loads the store
    from everloom.store import redact  # noqa: PLC0415
    from everloom.store.engine import refuse_write  # noqa: PLC0415

    known = invocation.settings_here().store
    if schema_of(known.url).engine != "postgresql":
        hint = "name a PostgreSQL store: --store postgresql://…"
        raise Rejected(f"{redact(known.url)} is a file, which is on one machine", hint=hint)
    if known.read_only:
        raise refuse_write(redact(known.url))
    from everloom.store.postgresql.migrating import distribute as spread  # noqa: PLC0415

    done = spread(known.url, SystemClock())
    said = f"{len(done.tables)} tables were distributed" if done.tables else "everything is distributed already"
    return Answer(done, [f"{redact(known.url)}: {said}, over {done.nodes} nodes"])
