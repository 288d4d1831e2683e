"""Earlier imports: listing them, and taking one back.

Taking back is forgetting, in pieces that hold no lock for long: what was derived goes or changes as with any other
forgetting, and tombstones stay. Refuses to know formats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from everloom.clock import to_micros
from everloom.errors import Conflict
from everloom.imports.here import operation_here
from everloom.kernel.imported import ImportSource, digest, items_of_source, list_sources, need_source
from everloom.kernel.verbs import MOST_ENTRIES

if TYPE_CHECKING:
    from everloom.kernel.forgetting.results import ForgottenItem, SparedItem
    from everloom.workspace import Workspace

# As many as one call takes.
_AT_ONCE = MOST_ENTRIES
_SHOWN = 20
_PREVIEW = "nothing is forgotten yet: call again with this token as confirm"
_AWAY = "forgotten for good; importing it again leaves it out"
_AGAIN = "forgotten for good; it may be imported again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportUndone:
    """The result of `undo_import`: what would go, with the token that confirms it, or what went."""

    id: int
    format: str
    place: str
    count: int
    is_done: bool
    advice: str
    confirm: str | None = None
    items: tuple[ForgottenItem, ...] = ()
    # What was made from it and stays, but changes.
    spared: tuple[SparedItem, ...] = ()
    remains: tuple[str, ...] = ()


@dataclass(slots=True)
class _Undoing:
    """An import while it is taken back."""

    ids: list[int] = field(default_factory=list)
    count: int = 0
    remains: dict[str, None] = field(default_factory=dict)


def list_imports(workspace: Workspace, limit: int = 50) -> list[ImportSource]:
    """List the places that something was taken in from, the latest first."""
    with operation_here(workspace).read() as unit:
        return list_sources(unit, limit)


def undo_import(
    workspace: Workspace,
    source_id: int,
    *,
    confirm: str | None = None,
    allow_again: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> ImportUndone:
    """Forget everything that an import brought; without the token of a preview as `confirm`, only show what would go.

    With `allow_again` it may be imported again; else its tombstones keep it away.
    """
    with operation_here(workspace).read() as unit:
        source = need_source(unit, source_id)
        first = items_of_source(unit, source_id, 0, _AT_ONCE)
    token = digest("undo", str(source.id), str(source.items), str(source.changed_at))[:18]
    if confirm is None:
        return _preview(workspace, source, first, token)
    if confirm != token:
        raise Conflict(
            "this is not what was confirmed: the import has changed since the preview",
            hint="look at it again: without confirm, what would go now is shown with its token",
        )
    done = _Undoing()
    while ids := _next(workspace, source_id):
        _forget(workspace, ids, done)
        progress(done.count, source.items)
    if allow_again and done.ids:
        for start in range(0, len(done.ids), _AT_ONCE):
            workspace.forgetting.lift_tombstones(done.ids[start : start + _AT_ONCE])
    with workspace.op.write("undo_import") as tx:
        tx.unit.send("imports.part_drop", source=source_id)
        tx.unit.send("imports.source_undone", id=source_id, at=to_micros(tx.at))
        tx.event(source=source_id, count=done.count)
    advice = _AGAIN if allow_again else _AWAY
    return _result(source, done.count, is_done=True, advice=advice, remains=tuple(done.remains))


def _next(workspace: Workspace, source_id: int) -> list[int]:
    with workspace.op.read() as unit:
        return items_of_source(unit, source_id, 0, _AT_ONCE)


def _forget(workspace: Workspace, ids: list[int], done: _Undoing) -> None:
    """Forget some items, with what the preview of exactly these confirms."""
    preview = workspace.forget(ids)
    gone = workspace.forget(ids, confirm=preview.confirm)
    done.ids += ids
    done.count += gone.count
    done.remains |= dict.fromkeys(gone.remains)


def _preview(workspace: Workspace, source: ImportSource, first: list[int], token: str) -> ImportUndone:
    if not first:
        return _result(source, 0, is_done=False, advice="nothing of this import is left")
    shown = workspace.forget(first[:_SHOWN])
    return _result(
        source,
        source.items,
        is_done=False,
        advice=_PREVIEW,
        confirm=token,
        items=shown.items[:_SHOWN],
        spared=shown.spared[:_SHOWN],
    )


def _result(source: ImportSource, count: int, **told: object) -> ImportUndone:
    return ImportUndone(id=source.id, format=source.format, place=source.place, count=count, **told)  # type: ignore[arg-type]
