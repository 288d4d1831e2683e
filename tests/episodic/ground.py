"""What the episodic tests stand on: looms whose settings a test chooses, scenes, scripted models, crashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everloom.clock import Clock, ManualClock
from everloom.episodic import Episodic
from everloom.episodic.scenes.geometry import mean_of, unpack_vectors
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from everloom.store.postgresql.unit import PostgresUnit
from everloom.store.sqlite.unit import SqliteUnit
from tests.store.ground import rows_of

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
DAY = timedelta(days=1)

SAILING = [
    "James repaired the mast of the boat",
    "James bought new sails for the boat",
    "We painted the hull of the boat blue",
    "We fished for mackerel from the boat",
    "The anchor of the boat slipped in the bay",
    "James taught Audrey to steer the boat",
]
BILLING = [
    "The team released version two of the billing service",
    "The billing service failed because of a missing migration",
    "James reviewed the pull request of the billing service",
    "A customer reported a wrong invoice of the billing service",
    "The team planned the next release of the billing service",
    "The billing service was down during the release",
]


def open_being(url: str, clock: Clock, **episodic: Any) -> Loom:
    """Open a loom with settings that depend on no machine; patrols begin only when a test says so."""
    chosen = {"patrol_at": 1_000_000, "patrol_hours": 0, **episodic}
    llm = chosen.pop("llm", {})
    return open_loom(
        url,
        settings=Settings.model_validate({"workspace": {"time_zone": "UTC"}, "episodic": chosen, "llm": llm}),
        clock=clock,
    )


def scene(action: str, **fields: Any) -> dict[str, Any]:
    """Tell a scene."""
    return {"action": action, "actors": ["James"], "when": ["2026-11-14"], "feeling": "", **fields}


def tell(being: Episodic, *scenes: dict[str, Any] | str) -> tuple[int, ...]:
    """Note scenes down; the answer is their notes' ids."""
    told = [scene(each) if isinstance(each, str) else each for each in scenes]
    kept = being.update_notes(scenes=told)
    assert kept.rejected == ()
    return kept.scene_ids


def patrol(being: Episodic, times: int = 1) -> None:
    """Run patrols to their end."""
    for _ in range(times):
        done = being.trigger_patrol(wait=True)
        assert done.status == "done", done


def remember(being: Episodic, *scenes: dict[str, Any] | str) -> list[int]:
    """Tell scenes and let a patrol take them in; the answer is the ids of their nodes, in order."""
    notes = tell(being, *scenes)
    patrol(being)
    with being._being.op.read() as unit:
        rows = {row["id"]: row["scene_id"] for row in unit.all("episodic.note_get", ids=list(notes))}
    return [rows[note] for note in notes]


def step(being: Episodic, name: str) -> Any:
    """Find one step of the newest patrol."""
    (report,) = being.patrol_report()
    return next(each for each in report.steps if each.step == name)


def write_script(file: Path, replies: Mapping[str, Any]) -> None:
    """Write what a scripted model says to each question, by a piece of its task."""
    rules = [{"match": match, "reply": reply} for match, reply in replies.items()]
    file.write_text(json.dumps(rules))


ASKED = {
    "consolidate": "curate a memory",
    "split": "grown too large",
    "classify": "Private \\(people",
    "feel": "how each scene felt",
    "reflect": "Write your diary",
}


class Killed(BaseException):
    """A process that ends between two statements, as far as this process can feel it."""


@contextmanager
def killed_after(statements: int) -> Iterator[None]:
    """Let so many statements pass, and none after them."""
    left = statements

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return method(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for kind in (SqliteUnit, PostgresUnit):
            for name in ("_execute", "many"):
                patch.setattr(kind, name, counted(getattr(kind, name)))
        yield


def life_of(url: str) -> dict[int, dict[str, Any]]:
    """Read what patrols change of every scene, past every filter of the program."""
    return {row["scene_id"]: row for row in rows_of(url, "SELECT * FROM scene_life")}


def assert_clusters_agree(loom: Loom, name: str, url: str) -> None:
    """Prove that every cluster's vector is the mean of its active scenes' vectors, and that no scene is homeless."""
    place = loom.workspace(name).info
    lives = [row for row in rows_of(url, "SELECT * FROM scene_life") if row["workspace_id"] == place.id]
    clusters = [row for row in rows_of(url, "SELECT * FROM cluster") if row["workspace_id"] == place.id]
    with loom.store.read(place.id) as unit:
        vectors = loom.embedding.held(unit, [row["scene_id"] for row in lives])
    assert {row["cluster_id"] for row in lives} <= {row["id"] for row in clusters}
    for cluster in clusters:
        active = [row["scene_id"] for row in lives if row["cluster_id"] == cluster["id"] and row["status"] == "active"]
        rows = [vectors[item] for item in active if item in vectors]
        if not rows:
            assert cluster["vector"] is None, f"cluster {cluster['id']} has a vector of nothing"
        else:
            (kept,) = unpack_vectors([cluster["vector"]])
            assert float(kept @ mean_of(np.stack(rows))) > 0.999, f"the vector of cluster {cluster['id']} is old"


def later(clock: ManualClock, **span: float) -> None:
    """Let time pass."""
    clock.advance(timedelta(**span))
