"""Renders the results of review for people."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.kernel.trust.review import HeldList
from everloom.surfaces.cli.render.parts import Part, Renderer
from everloom.surfaces.cli.runtime.output import Table
from everloom.wiring.review import Reviewed, StoredSecrets


def _held(value: HeldList, zone: ZoneInfo) -> Iterator[Part]:
    if not value.held:
        yield "nothing waits for review"
        return
    rows = [(each.id, shown(each.at, zone), each.origin, each.session, each.text) for each in value.held]
    yield Table(rows, ("id", "at", "origin", "session", "text"))
    yield f"{value.waiting} waiting: `everloom review approve ID` or `everloom review reject ID`"


def _reviewed(value: Reviewed, _zone: ZoneInfo) -> Iterator[Part]:
    item = getattr(value.result, "id", None) or getattr(value.result, "item", None)
    became = f": it is {item} now" if item else ""
    yield f"{value.id} {value.decision}{became}{f': {value.problem}' if value.problem else ''}"


def _secrets(value: StoredSecrets, _zone: ZoneInfo) -> Iterator[Part]:
    if value.secrets:
        rows = [(each.kind, each.id, each.table, each.field) for each in value.secrets]
        yield Table(rows, ("kind", "id", "table", "field"))
    yield value.note


RENDERERS: dict[type, Renderer] = {HeldList: _held, Reviewed: _reviewed, StoredSecrets: _secrets}
