"""Episodic memory's part in a forgetting: scenes with their notes, entries under a key, thoughts, snapshots.

A scene into which a forgotten one was merged is dissolved: it goes, the other originals live again, and a note that it
was itself told in waits for the next patrol. A scene that was split goes with any of its parts, because it tells what
they tell; the other parts stay. The history of a scene goes with it, and what others share of it loses its words. A
page of the diary goes along if it repeats words of the scene.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from everloom.clock import from_micros, to_micros
from everloom.episodic.entries.entry import KINDS, diary_key
from everloom.episodic.scenes.clusters import refresh, short
from everloom.episodic.scenes.history import blank_history, told_in_history
from everloom.kernel.forgetting.plan import Consequences, Doomed, ForgetPlan, Spared, Traces, blanked, only_in
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.operation import Operation, Transaction
from everloom.store import Row, Unit

_SCENE, _NOTE = "scene", "note"
_DIARY = "diary"
_DISSOLVED = "merged from what goes"
_DIVIDED = "split into what goes"
_MOST = 100_000
_UNNAMED = "…"


class EpisodicEraser(Eraser):
    """Forgets scenes, notes and entries."""

    def __init__(self, op: Operation) -> None:
        self._op = op

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe scenes, notes and entries."""
        wanted = list(ids)
        found = {row["id"]: _note(row) for row in unit.all("episodic.note_get", ids=wanted)}
        found |= {row["id"]: _entry(row) for row in unit.all("episodic.entry_of", ids=wanted)}
        texts = self._op.index.documents(unit, wanted)
        before = _histories(unit, wanted)
        for row in unit.all("episodic.node_of", ids=wanted):
            told, history = texts[row["id"]], before.get(row["id"], [])
            found[row["id"]] = Doomed(
                id=row["id"],
                kind=_SCENE,
                text=" ".join([told.text, told.details, *told.labels, *_strings(row["body"]), *history]),
                state=f"{row['absorbed_into']} {row['patrol_id']} {row['split_from']}",
                keys=(text_key(told.text),),
            )
        return found

    def within(self, unit: Unit, begin: int, end: int, session_id: int | None) -> set[int]:
        """Find the notes of a period or session."""
        limits = {"begin": begin, "end": end, "limit": _MOST}
        rows = unit.all(
            "episodic.note_within", **limits, every_session=int(session_id is None), session=session_id or 0
        )
        return {row["id"] for row in rows}

    def consequences(self, unit: Unit, plan: ForgetPlan) -> Consequences:
        """Say which notes, scenes and pages go along, and what comes back by itself."""
        scenes, dissolved = plan.of(_SCENE), _dissolved(plan)
        taken: dict[int, str] = {}
        for row in unit.all("episodic.note_get", ids=plan.of(_NOTE)):
            if row["scene_id"] is not None:
                taken[row["scene_id"]] = f"told in note {row['id']}"
        whole = [item for item in scenes if item not in dissolved]
        taken |= {row["id"]: f"the note of scene {row['scene_id']}" for row in _notes_behind(unit, whole)}
        # Whoever forgets a merged scene means all that it was merged from.
        taken |= {
            row["id"]: f"merged into {row['absorbed_into']}" for row in unit.all("episodic.absorbed_by", ids=whole)
        }
        taken |= {row["absorbed_into"]: _DISSOLVED for row in unit.all("episodic.absorbed_of", ids=scenes)}
        taken |= _divided(unit, plan, scenes)
        spared = [
            *(
                _spared(unit, row["id"], "scene", "stays: another part of what was split")
                for row in _others(unit, plan)
            ),
            *(_spared(unit, row["id"], "scene", "lives again by itself") for row in _freed(unit, plan)),
            *(_spared(unit, row["id"], "note", "waits for the next patrol") for row in _notes_behind(unit, dissolved)),
        ]
        pages, looked_at = self._pages(unit, plan)
        return Consequences(taken | pages, (*spared, *looked_at))

    def _pages(self, unit: Unit, plan: ForgetPlan) -> tuple[dict[int, str], list[Spared]]:
        """Judge the pages of the diary that were written from forgotten scenes."""
        taken: dict[int, str] = {}
        spared: list[Spared] = []
        for patrol in unit.all("episodic.scene_patrols", ids=plan.of(_SCENE)):
            row = unit.one(
                "episodic.entry_get", target=_DIARY, key=diary_key(self._op, from_micros(patrol["began_at"]))
            )
            if row is None or row["id"] in plan.doomed:
                continue
            rows = unit.all("episodic.note_of_patrol", patrol=patrol["id"])
            others = [each["content"] for each in rows if each["id"] not in plan.doomed]
            gone = [each.text for each in plan.doomed.values() if each.kind in (_SCENE, _NOTE)]
            if only_in(gone, others) & only_in([row["content"]], ()):
                taken[row["id"]] = "a page of the diary that repeats its words"
            else:
                change = "stays: it was written from it, in other words"
                spared.append(Spared(id=row["id"], kind=_DIARY, text=row["content"], change=change))
        return taken, spared

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete the rows, and bring back what was only merged with them."""
        unit, scenes = tx.unit, plan.of(_SCENE)
        homes = {row["cluster_id"] for row in unit.all("episodic.status_of", ids=scenes)}
        waiting = [row["id"] for row in _notes_behind(unit, _dissolved(plan)) if row["id"] not in plan.doomed]
        freed = [row["id"] for row in _freed(unit, plan)]
        unit.send("episodic.note_wait", ids=waiting)
        unit.send("episodic.note_purge", ids=plan.of(_NOTE))
        unit.send("episodic.unabsorb", ids=freed)
        homes |= {row["cluster_id"] for row in unit.all("episodic.status_of", ids=freed)}
        unit.send("episodic.part_free", ids=[row["id"] for row in unit.all("episodic.split_off", ids=scenes)])
        blank_history(unit, unit.all("episodic.change_beside", ids=scenes))
        unit.send("episodic.change_drop", ids=scenes)
        for name in ("life_drop", "scene_drop"):
            unit.send(f"episodic.{name}", ids=scenes)
        unit.send("episodic.entry_purge", ids=plan.of(*KINDS.values()))
        if scenes:
            unit.send("episodic.being_think", text="", at=to_micros(tx.at))
            refresh(unit, self._op.embedding, homes)

    def scrub(self, tx: Transaction, traces: Traces) -> None:
        """Take the words out of snapshots, thoughts, the names of clusters and the reports of patrols."""
        unit = tx.unit
        unit.send("episodic.snapshot_clear")
        being = unit.one("episodic.being_get")
        if being is not None and being["think_md"] and traces.in_text(being["think_md"]):
            unit.send("episodic.being_think", text="", at=to_micros(tx.at))
        for row in unit.all("episodic.cluster_texts"):
            if traces.in_text(f"{row['name']} {row['digest']}"):
                unit.send("episodic.cluster_rename", id=row["id"], name=_name_for(unit, row["id"]), digest="")
        blank_history(unit, [row for row in unit.all("episodic.change_texts") if traces.in_data(told_in_history(row))])
        for row in unit.all("episodic.step_texts"):
            report = json.loads(row["report"])
            if traces.in_data(report):
                text = json.dumps(blanked(report))
                unit.send("episodic.step_blank", patrol=row["patrol_id"], step=row["step"], report=text)


def _note(row: Row) -> Doomed:
    told = " ".join(_strings(row["content"])) or row["content"]
    keys = (text_key(row["content"]),)
    return Doomed(id=row["id"], kind=_NOTE, text=told, state=f"{row['updated_at']} {row['scene_id']}", keys=keys)


def _entry(row: Row) -> Doomed:
    told = [row["content"], row["title"], row["entry_key"], *_strings(row["detail"])]
    return Doomed(
        id=row["id"],
        kind=KINDS[row["target"]],
        text=" ".join(dict.fromkeys(part for part in told if part)),
        state=str(row["updated_at"]),
        keys=(text_key(row["content"]),),
    )


def _strings(text: str) -> Iterator[str]:
    """Read the texts in a JSON value; nothing if it is none."""
    try:
        yield from _texts_in(json.loads(text))
    except ValueError:
        return


def _texts_in(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _texts_in(each)
        case list():
            for each in value:
                yield from _texts_in(each)


def _histories(unit: Unit, scenes: Sequence[int]) -> dict[int, list[str]]:
    """Read what the changes of scenes tell: what a scene said before is forgotten with it."""
    found: dict[int, list[str]] = {}
    for row in unit.all("episodic.change_told", ids=list(scenes)):
        found.setdefault(row["scene_id"], []).extend(_texts_in(told_in_history(row)))
    return found


def _divided(unit: Unit, plan: ForgetPlan, scenes: Sequence[int]) -> dict[int, str]:
    """Say what goes because it tells the same: parts with their whole, a whole with a part, and what was undone."""
    wholes = [item for item in scenes if plan.reasons.get(item) != _DIVIDED]
    taken = {row["id"]: f"split from {row['split_from']}" for row in unit.all("episodic.split_off", ids=wholes)}
    taken |= {row["split_from"]: _DIVIDED for row in unit.all("episodic.whole_of", ids=scenes)}
    return taken | {
        row["id"]: f"made from {row['source_id']}, and undone" for row in unit.all("episodic.undone_on", ids=scenes)
    }


def _others(unit: Unit, plan: ForgetPlan) -> list[Row]:
    """Find the parts that stay although the scene goes that they were split from."""
    rows = unit.all("episodic.split_off", ids=plan.of(_SCENE))
    return [row for row in rows if row["id"] not in plan.doomed]


def _dissolved(plan: ForgetPlan) -> list[int]:
    return [item for item in plan.of(_SCENE) if plan.reasons.get(item) == _DISSOLVED]


def _notes_behind(unit: Unit, scenes: Sequence[int]) -> list[Row]:
    return unit.all("episodic.note_behind", ids=list(scenes))


def _freed(unit: Unit, plan: ForgetPlan) -> list[Row]:
    """Find the scenes that were merged into a dissolved one and stay."""
    rows = unit.all("episodic.absorbed_by", ids=_dissolved(plan))
    return [row for row in rows if row["id"] not in plan.doomed]


def _spared(unit: Unit, item: int, kind: str, change: str) -> Spared:
    statement = "episodic.node_of" if kind == _SCENE else "episodic.note_get"
    (row,) = unit.all(statement, ids=[item])
    return Spared(id=item, kind=kind, text=row["action"] if kind == _SCENE else row["content"], change=change)


def _name_for(unit: Unit, cluster: int) -> str:
    """Name a cluster after its most important scene that is left."""
    row = next(iter(unit.all("episodic.node_in_cluster", cluster=cluster, limit=1)), None)
    found = [] if row is None else unit.all("episodic.node_of", ids=[row["id"]])
    return short(found[0]["action"]) if found else _UNNAMED
