"""Carrying out a plan on files and index so that a crash at any moment leaves the state before or the state after.

New contents are staged, then the intent is committed in the store, then files take their places, then index and
journal follow in one transaction, then git. Until the intent is committed nothing happened; from then on whoever opens
the graph next ends what was begun. Somebody else's change in between is never overwritten: both versions are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from everloom.clock import to_micros
from everloom.errors import Conflict
from everloom.graph.files.disk import HIDDEN, digest
from everloom.graph.files.git import Git
from everloom.graph.files.names import conflict_name
from everloom.graph.files.plan import Append, Change, Drop, Plan, Put, plan_from
from everloom.graph.files.reader import is_followed
from everloom.graph.index.catalog import Catalog, Ground
from everloom.graph.index.decay import settle
from everloom.kernel.journal import append_event
from everloom.store import Unit
from everloom.store.files import locked

# More files than this are made durable by one sync of the system instead of one each, and indexed in pieces.
MANY = 200
BATCH = 1_000

Attend = Callable[[Unit], int | None]


@dataclass(frozen=True, slots=True)
class Done:
    """How a plan ended: what git said, and which of our versions had to be put beside somebody else's."""

    notices: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class Carrier:
    """What carries out the plans of one graph, one at a time."""

    def __init__(self, ground: Ground, catalog: Catalog, git: Git | None, attend: Attend) -> None:
        self._ground = ground
        self._catalog = catalog
        self._git = git
        self._attend = attend

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Be the only writer in the directory, after ending what a dead one began."""
        disk = self._ground.disk
        disk.must_exist()
        disk.prepare()
        with locked(disk.root / HIDDEN / "lock"):
            self.recover()
            yield

    def carry(self, plan: Plan) -> tuple[str, ...]:
        """Carry out a plan, holding the turn, and say what is worth telling; a conflict is raised when all is safe."""
        if not plan.changes and not plan.states:
            return ()
        key = uuid4().hex
        self._stage(key, plan.changes)
        ground = self._ground
        with ground.store.write(ground.workspace) as unit:
            at = to_micros(ground.clock.now())
            unit.run("graph.intent_add", graph=ground.graph, key=key, plan=plan.as_json(), at=at)
            session = self._attend(unit)
        done = self._finish(key, plan, session)
        if done.conflicts:
            raise Conflict(
                f"somebody else changed {', '.join(plan.paths[:3])} at the same moment",
                hint=f"theirs stands, ours is beside it: look at {', '.join(done.conflicts)}",
                current=list(done.conflicts),
            )
        return done.notices

    def recover(self) -> list[str]:
        """End what was begun by somebody who died; the answer is which operations."""
        ground = self._ground
        with ground.store.read(ground.workspace) as unit:
            rows = unit.all("graph.intent_all", graph=ground.graph)
        for row in rows:
            plan = plan_from(row["plan"])
            if row["stage"] == "files":
                self._finish(row["key"], plan)
            else:
                self._commit(row["key"], plan, plan.paths)
        for key in ground.disk.staged_keys():
            ground.disk.clear(key)
        return [plan_from(row["plan"]).operation for row in rows]

    def _stage(self, key: str, changes: Sequence[Change]) -> None:
        durable = len(changes) <= MANY
        for place, change in enumerate(changes):
            if isinstance(change, Put) and change.data is not None:
                self._ground.disk.stage(key, str(place), change.data, durable=durable)
        if not durable and hasattr(os, "sync"):
            os.sync()

    def _finish(self, key: str, plan: Plan, session: int | None = None) -> Done:
        copies = [copy for place, change in enumerate(plan.changes) if (copy := self._apply(key, place, change))]
        paths = [*plan.paths, *copies]
        followed = [path for path in paths if is_followed(path)]
        while len(followed) > BATCH:
            self._catalog.follow(followed[:BATCH], session)
            followed = followed[BATCH:]
        self._catalog.follow(followed, session, lambda unit: self._record(unit, key, plan))
        self._ground.disk.clear(key)
        return Done(self._commit(key, plan, paths), tuple(copies))

    def _record(self, unit: Unit, key: str, plan: Plan) -> None:
        ground, now = self._ground, self._ground.clock.now()
        rows = unit.all("graph.memory_by_uuid", graph=ground.graph, uuids=list(plan.states))
        unit.many(
            "graph.access_restore",
            [
                {"item": row["id"], "count": plan.states[row["uuid"]][0], "at": plan.states[row["uuid"]][1]}
                for row in rows
            ],
        )
        settle(unit, ground.index, unit.all("graph.memory_of", ids=[row["id"] for row in rows]), now)
        append_event(unit, f"graph.{plan.operation}", {"graph": ground.graph, **plan.detail}, now, self._attend(unit))
        statement = "graph.intent_indexed" if self._commits(plan) else "graph.intent_drop"
        unit.run(statement, graph=ground.graph, key=key)

    def _commits(self, plan: Plan) -> bool:
        return self._git is not None and plan.is_committed and self._git.is_repository

    def _commit(self, key: str, plan: Plan, paths: Sequence[str]) -> tuple[str, ...]:
        if self._git is None or not self._commits(plan):
            return ()
        said = self._git.commit(paths, plan.message)
        ground = self._ground
        with ground.store.write(ground.workspace) as unit:
            unit.run("graph.intent_drop", graph=ground.graph, key=key)
        return () if said is None else (said,)

    def _apply(self, key: str, place: int, change: Change) -> str | None:
        """Make one change, unless it is made already; the answer is where our version went if somebody was faster."""
        match change:
            case Put():
                return self._put(key, str(place), change)
            case Drop():
                return self._drop(change)
            case Append():
                self._append(change)
        return None

    def _put(self, key: str, name: str, change: Put) -> str | None:
        disk = self._ground.disk
        if not disk.is_staged(key, name):
            return None
        if digest(disk.read(change.path)) in (change.before, change.after):
            disk.put(key, name, change.path)
            return None
        copy = conflict_name(change.path, key[:6])
        disk.put(key, name, copy)
        return copy

    def _drop(self, change: Drop) -> str | None:
        disk = self._ground.disk
        found = digest(disk.read(change.path))
        if found == change.before:
            disk.drop(change.path)
        return change.path if found not in (None, change.before) else None

    def _append(self, change: Append) -> None:
        disk = self._ground.disk
        data = change.text.encode()
        added = (disk.read(change.path) or b"")[change.size :]
        if data not in added:
            disk.append(change.path, data)
