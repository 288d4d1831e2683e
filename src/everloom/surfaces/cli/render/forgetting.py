"""Renders the results of forgetting and correcting for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.kernel.forgetting.results import Corrected, Forgotten, TombstoneList
from everloom.surfaces.cli.render.parts import Part, Renderer
from everloom.surfaces.cli.runtime.output import Table


def _forgotten(value: Forgotten, _zone: ZoneInfo) -> Iterator[Part]:
    if not value.is_done:
        yield "This would be forgotten for good:"
    rows = [(str(each.id), each.kind, each.text or "", each.because or "") for each in value.items]
    yield Table([row if not value.is_done else row[:2] for row in rows])
    if value.left_off:
        yield f"… and {value.left_off:,} more"
    if value.spared:
        yield "This comes from it and stays:"
        yield Table([(str(each.id), each.kind, each.text, each.change) for each in value.spared])
    if value.mentions:
        yield "This says the same and stays, unless you name it, too:"
        yield Table([(str(each.id), each.kind, each.text) for each in value.mentions])
    if value.is_done:
        yield f"{value.count:,} forgotten; cleaned: {', '.join(value.cleaned) or 'nothing yet'}"
        yield from (f"May still hold it: {each}" for each in value.remains)
    else:
        yield f"Nothing is forgotten yet. Add --yes, or --confirm {value.confirm}"


def _tombstones(value: TombstoneList, zone: ZoneInfo) -> Iterator[Part]:
    rows = []
    for each in value.tombstones:
        state = "lifted" if each.lifted_at else "clean" if each.is_clean else "files not cleaned yet"
        rows.append((str(each.id), each.kind, shown(each.at, zone), each.session or "", state))
    yield Table(rows, ("id", "kind", "forgotten", "session", "state") if rows else ())
    if value.count > len(rows):
        yield f"… and {value.count - len(rows):,} more"


def _corrected(value: Corrected, zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.kind} {value.id} says it now: {value.how}"
    if value.forgotten is not None:
        yield from _forgotten(value.forgotten, zone)


RENDERERS: Mapping[type, Renderer] = {
    Corrected: _corrected,
    Forgotten: _forgotten,
    TombstoneList: _tombstones,
}
