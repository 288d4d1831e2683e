"""The checks of every part that the memory depends on, and how to fix what does not work.

Changes nothing. Refuses to know who asks: `everloom doctor` and the page show the same checks.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from everloom.checks.permissions import named, wide_files
from everloom.errors import EverloomError
from everloom.workspace import Workspace

if TYPE_CHECKING:
    from everloom.loom import Loom

_State = Literal["ok", "warn", "fail"]
# SQLite needs room for its journal and, when it is compacted or backed up, for a whole second copy.
_LITTLE_ROOM = 1_000_000_000
_NO_ROOM = 50_000_000
# Of many files that cannot be used, the first ones; `everloom graph stats` names them all.
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check, and how to fix the problem, if there is one."""

    name: str
    state: _State
    message: str
    mend: str | None = None


def examine_program() -> Iterator[Check]:
    """Check what the memory runs on."""
    yield _check_python()
    yield _check_sqlite()


def examine(loom: Loom, *, settings: Path | None = None, ask_llm: bool = False, deep: bool = False) -> Iterator[Check]:
    """Run the checks of an open memory in order; `settings` is the file that its settings were read from."""
    for part in (
        _check_deeply if deep else _check_store,
        partial(_check_permissions, settings=settings),
        _check_names,
        _check_room,
        _check_writing,
        _check_embedders,
        _check_coverage,
        _check_languages,
        _check_words,
        _check_dates,
        _check_jobs,
        _check_files,
        _check_graphs,
        _check_travel,
        _check_llm,
        _check_costs,
    ):
        yield from _guarded(part, loom)
    if ask_llm:
        yield from _guarded(_check_answers, loom)


def _guarded(part: Callable[[Loom], Iterable[Check]], loom: Loom) -> Iterator[Check]:
    """Turn an error into a failed check, so that the other checks still run."""
    try:
        yield from part(loom)
    except EverloomError as error:
        # A check may have been given more than the loom.
        name: str = getattr(part, "func", part).__name__
        yield Check(name.removeprefix("_check_"), "fail", error.message, error.hint)


def _check_python() -> Check:
    """Check the interpreter."""
    is_fit = sys.version_info >= (3, 11)
    return Check(
        "python", "ok" if is_fit else "fail", platform.python_version(), None if is_fit else "use 3.11 or newer"
    )


def _check_sqlite() -> Check:
    """Check the version of SQLite that Python uses."""
    from everloom.store.sqlite.opening import OLDEST  # noqa: PLC0415  loads the store
    from everloom.store.sqlite.versions import defects_of  # noqa: PLC0415

    version = sqlite3.sqlite_version_info
    if version < OLDEST:
        mend = f"use a Python with SQLite {'.'.join(map(str, OLDEST))} or newer"
        return Check("sqlite", "fail", sqlite3.sqlite_version, mend)
    if defects := defects_of(version):
        known = ", ".join(each.title for each in defects)
        why = "; ".join(f"{each.effect} ({each.source})" for each in defects)
        least = ".".join(map(str, max(each.mended for each in defects)))
        mend = (
            f"use a Python with SQLite {least} or newer; until then, let few processes write, and back up often: {why}"
        )
        return Check("sqlite", "warn", f"{sqlite3.sqlite_version} has a known defect: {known}", mend)
    return Check("sqlite", "ok", sqlite3.sqlite_version)


def _check_deeply(loom: Loom) -> Iterator[Check]:
    """Check the store by reading all of it."""
    yield from _check_store(loom, deep=True)


def _check_store(loom: Loom, *, deep: bool = False) -> Iterator[Check]:
    """Check the integrity of the store."""
    health = loom.store.health(deep=deep)
    size = f"{health.bytes_used / 1e6:,.1f} MB"
    yield Check("store", "ok", f"{loom.store.address} ({health.engine} {health.version}, {size})")
    yield Check("schema", "ok", f"version {health.schema_version}")
    if not health.problems:
        yield Check("integrity", "ok", "everything was read, no problem found" if deep else "no problem found")
    for problem in health.problems:
        yield Check(
            "integrity", "fail", problem, "keep the file, and restore the newest backup with `everloom restore`"
        )


def _check_permissions(loom: Loom, settings: Path | None) -> Iterator[Check]:
    """Check that nobody else has permissions for the files of the memory, its graphs and its notes."""
    if os.name == "nt":
        return
    found = wide_files(loom, settings)
    for place, wide in found.items():
        how = "chmod -R" if place.is_dir() else "chmod"
        message = f"other users of this machine have permissions for {named(wide)}"
        yield Check("permissions", "warn", message, f"{how} go= {shlex.quote(str(place))}")
    if not found:
        yield Check("permissions", "ok", "nobody but their owner has permissions for the files")


def _check_names(loom: Loom) -> Iterator[Check]:
    """Check that the database has one name."""
    if loom.store.engine != "sqlite" or os.name == "nt":
        return
    path = Path(loom.store.address)
    if path.stat().st_nlink > 1:
        mend = "delete the other name; whoever opened the database by it would write to another log, and damage it"
        yield Check("names", "warn", f"{path} is one of several names (hard links) of the same database", mend)


def _check_room(loom: Loom) -> Iterator[Check]:
    """Check the free disk space; that of a database server cannot be seen from here."""
    if loom.store.engine != "sqlite":
        return
    free = shutil.disk_usage(Path(loom.store.address).parent).free
    state: _State = "fail" if free < _NO_ROOM else "warn" if free < _LITTLE_ROOM else "ok"
    yield Check("disk", state, f"{free / 1e9:,.1f} GB free", "free some space")


def _check_writing(loom: Loom) -> Iterator[Check]:
    """Check whether the store can be written, with a footprint that changes nothing."""
    if loom.store.is_read_only:
        yield Check("writing", "ok", "nothing is written: it was opened only for reading")
        return
    places = loom.workspaces.list()
    if not places:
        return
    loom.operation(places[0]).leave(
        "doctor", lambda tx: tx.unit.run("kernel.session_touch", id=0, at=0, model_tier=None)
    )
    counts = loom.footprints.counts
    if counts.reason is None:
        yield Check("writing", "ok", "what reading leaves behind can be stored")
        return
    message = f"{counts.waiting + counts.lost} footprints of reading could not be stored: {counts.reason}"
    yield Check("writing", "warn", message, "reading works meanwhile; what it leaves behind is stored later or lost")


def _check_embedders(loom: Loom) -> Iterator[Check]:
    """Let each embedder embed a word; it only fails if none of them works."""
    from everloom.models.embed import EmbeddingTask  # noqa: PLC0415  loads numpy

    chain = loom.embedding.chain
    errors: dict[str, EverloomError] = {}
    for traits in chain.links:
        name = f"embedder {traits.name}"
        started = time.perf_counter()
        # Each link by itself: the chain as a whole would hide that its first choice is down.
        try:
            vectors = chain.link(traits.name).embed(["memory"], EmbeddingTask.QUERY)
        except EverloomError as error:
            errors[name] = error
            continue
        took = (time.perf_counter() - started) * 1000
        yield Check(name, "ok", f"answers in {took:.0f} ms with {vectors.dim} dimensions")
    state: _State = "fail" if len(errors) == len(chain.links) else "warn"
    for name, down in errors.items():
        yield Check(name, state, down.message, down.hint or "check its address and key: `everloom config`")


def _check_coverage(loom: Loom) -> Iterator[Check]:
    """Count the documents of each workspace that have vectors, are waiting for them, or were refused."""
    for place in loom.workspaces.list():
        found = loom.embedding.coverage(place.id)
        message = f"{found.embedded:,} embedded, {found.waiting:,} waiting, {found.refused:,} refused"
        mend = (
            f"`everloom embed -w '{place.name}'` computes them"
            if found.waiting
            else "shorten the texts, or change the model"
        )
        yield Check(f"vectors of {place.name}", "warn" if found.waiting or found.refused else "ok", message, mend)


def _check_languages(loom: Loom) -> Iterator[Check]:
    """Check for workspaces with many texts in languages that the preferred embedder does not know."""
    from everloom.checks.languages import unknown_texts  # noqa: PLC0415  loads numpy
    from everloom.models.static.multilingual import NAME  # noqa: PLC0415

    model = loom.embedding.preferred
    better = f"`everloom config set embed.models {NAME}`, then `everloom embed`, computes vectors that tell them apart"
    mend = better if model != NAME else "`everloom calibrate` measures it anew; docs/running.md lists other embedders"
    for place in loom.workspaces.list():
        if (found := unknown_texts(loom.operation(place))) is not None:
            written = "in Latin script but not English" if found.script == "latin" else f"in {found.script} script"
            message = (
                f"{found.share:.0%} of the texts are in languages that {model} does not know, most of them {written}"
            )
            yield Check(f"languages of {place.name}", "warn", message, mend)


def _check_words(loom: Loom) -> Iterator[Check]:
    """Count the documents of each workspace whose words were made by older rules."""
    from everloom.kernel.work.maintenance import Rewording  # noqa: PLC0415  loads numpy

    for place in loom.workspaces.list():
        if waiting := sum(job.due for job in loom.work.jobs(place) if job.task == Rewording.name):
            message = f"{waiting:,} documents are indexed by older rules, and some questions miss them"
            mend = f"`everloom sleep --only words -w '{place.name}'` indexes them again"
            yield Check(f"words of {place.name}", "warn", message, mend)


def _check_dates(loom: Loom) -> Iterator[Check]:
    """Check for items that are dated in the future and are not planned: they rank as if they had no date."""
    from everloom.checks.dates import items_ahead  # noqa: PLC0415  loads numpy

    for place in loom.workspaces.list():
        count, listed = items_ahead(loom.operation(place), _MOST_NAMED)
        if count:
            found = "; ".join(f"{each.id} ({each.happened_at.date()}) {each.text}" for each in listed)
            more = f"; and {count - len(listed):,} more" if count > len(listed) else ""
            message = f"items that are dated in the future rank as if they had no date ({count:,}): {found}{more}"
            mend = f"`everloom doctor --set-date ID=DATE -w {shlex.quote(place.name)}` sets the date of an item"
            yield Check(f"dates of {place.name}", "warn", message, mend)


def _check_jobs(loom: Loom) -> Iterator[Check]:
    """Check for background work that failed recently."""
    known = [job for place in loom.workspaces.list() for job in loom.work.jobs(place)]
    failed = [job for job in known if job.failures]
    if not failed:
        yield Check("jobs", "ok", "nothing failed recently")
    for job in failed:
        message = f"{job.task} failed {job.failures} times: {job.last_error}"
        yield Check(
            f"jobs of {job.workspace}", "warn", message, f"fix the cause, then `everloom jobs retry {job.task}`"
        )
    for job in known:
        if forgotten := job.last_report.get("forgotten"):
            message = f"no worker would have noticed for up to a day that {', '.join(forgotten)} had something to do"
            yield Check(f"jobs of {job.workspace}", "warn", message, "report it: the audit has mended it, but not why")


def _check_files(loom: Loom) -> Iterator[Check]:
    """Check that the files are this store's own, and whether there are some of workspaces that no longer exist."""
    if (original := loom.places.original) is not None:
        message = f"this database is a copy of {original}, and has no graphs and notes of its own"
        yield Check("files", "warn", message, "`everloom separate` makes it a store of its own, with copies of them")
        return
    for left in loom.places.leftovers():
        yield Check("files", "warn", f"{left} belongs to a workspace that was removed", f"delete {left}")


def _check_graphs(loom: Loom) -> Iterator[Check]:
    """Check for files of graphs that cannot be used, and count those that were read with assumptions."""
    for place in loom.workspaces.list():
        with loom.store.read(place.id) as unit:
            rows = unit.all("graph.graph_all")
            found = {row["id"]: unit.all("graph.file_problems", graph=row["id"]) for row in rows}
            assumed = {row["id"]: unit.all("graph.note_count", graph=row["id"])[0]["assumed"] for row in rows}
        for row in rows:
            name = f"graph {row['name']} of {place.name}"
            if broken := found[row["id"]]:
                named = "; ".join(f"{each['path']}: {each['problem']}" for each in broken[:_MOST_NAMED])
                more = f"; and {len(broken) - _MOST_NAMED} more" if len(broken) > _MOST_NAMED else ""
                message = f"{len(broken)} files in {row['directory']} cannot be used: {named}{more}"
                mend = "correct them by hand; nothing changes them, and they are read again as soon as they change"
                yield Check(name, "warn", message, mend)
            if count := assumed[row["id"]]:
                mend = f"`everloom graph report --graph '{row['name']}' -w '{place.name}'` names them"
                yield Check(name, "ok", f"{count:,} files were read with assumptions", mend)


def _check_travel(loom: Loom) -> Iterator[Check]:
    """Check whether a workspace is on its way; nobody can write to one whose move was interrupted."""
    from everloom.kernel.travel import Travel  # noqa: PLC0415  few stores need it

    for each in Travel(loom.store, loom.clock, loom.holder).travellers():
        if each.state == "leaving":
            message = f"{each.info.name} is moving to {each.destination}, and can only be read"
            mend = f"if nothing moves it any more: `everloom move {shlex.quote(each.info.name)} --to …` goes on"
            yield Check("moves", "warn", message, f"{mend}, with --stay it gives up")
        elif each.state == "arriving":
            message = f"{each.info.name} is being imported"
            mend = "if nothing imports it any more, the next import removes what is there"
            yield Check("imports", "warn", message, mend)


def _check_llm(loom: Loom) -> Iterator[Check]:
    """Report which language models are configured."""
    known = loom.settings.llm
    named = ", ".join(f"{role}: {model}" for role, model in (("large", known.large), ("small", known.small)) if model)
    yield Check("llm", "ok", named or "none configured; search works without one")


def _check_costs(loom: Loom) -> Iterator[Check]:
    """Report the alerts about costs that hold in a workspace, whether or not anybody was told."""
    from everloom.wiring.usage import alerts_of  # noqa: PLC0415  loads the mind

    known = loom.settings.llm
    if not (known.large or known.small):
        return
    for place in loom.workspaces.list():
        for alert in alerts_of(Workspace(loom, place)):
            mend = f"`everloom usage --by purpose -w {shlex.quote(place.name)}` shows what for"
            yield Check(f"costs of {place.name}", "warn", alert["message"].strip("()"), mend)


def _check_answers(loom: Loom) -> Iterator[Check]:
    """Let each language model answer a short request."""
    from everloom.models.ask import AskMessage, AskRequest  # noqa: PLC0415  loads pydantic

    roles = loom.llms(loom.workspace().info)
    if not roles.is_configured:
        return
    ask = AskRequest("", (AskMessage("user", "Say: ready"),), max_tokens=16, purpose="doctor")
    for role in ("large", "small"):
        try:
            answered = getattr(roles, role).complete(ask)
            yield Check(f"llm {role}", "ok", f"{answered.model} answers")
        except EverloomError as error:
            yield Check(f"llm {role}", "fail", error.message, error.hint or "check its name, address and key")
