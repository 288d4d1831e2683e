"""The Venn picture of two or three subjects, what each of its regions holds, and the form that chooses the subjects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.errors import EverloomError, meaning_of
from everloom.surfaces.page.paths import WORKSPACE, look
from everloom.surfaces.page.pictures.venn import DrawnVenn, Venn, VennRegion, draw
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.semantic.views import RegionContents, SubjectOverlap

_LETTERS = "abc"
_PAGE_TOKENS = 40_000
_OBSERVATIONS = 25


def venn(visit: Visit) -> Response:
    """Show what two or three subjects share."""
    names = [each.strip() for each in visit.request.query_params.getlist("subject") if each.strip()][:3]
    overlap = drawn = opened = error = None
    regions: tuple[VennRegion, ...] = ()
    try:
        if len(names) > 1:
            overlap = visit.workspace.semantic.measure_overlap(names)
            regions = regions_of(visit, overlap)
            drawn = _drawn(overlap, regions)
            opened = _opened(visit, overlap)
    except EverloomError as failure:
        error = failure
    chosen = [each.name for each in overlap.subjects] if overlap else names
    return visit.page(
        "venn.html",
        200 if error is None else meaning_of(error).http_status,
        title=" and ".join(chosen) if overlap else "What subjects share",
        names=[*chosen, "", "", ""][:3],
        opened_names=chosen,
        overlap=overlap,
        regions=regions,
        drawn=drawn,
        opened=opened,
        region=visit.asked("region"),
        is_later=bool(visit.asked("cursor")),
        error=error,
    )


def regions_of(visit: Visit, overlap: SubjectOverlap) -> tuple[VennRegion, ...]:
    """List every region, with how much it holds and where it leads."""
    names = [each.name for each in overlap.subjects]
    every = range(len(names))
    inside = [chosen for size in range(1, len(names) + 1) for chosen in combinations(every, size)]
    counts = counts_of(overlap)
    return tuple(
        VennRegion(
            inside=chosen,
            name=_told([names[place] for place in chosen], [names[place] for place in every if place not in chosen]),
            count=counts[chosen],
            address=visit.url("venn", subject=names, region="".join(_LETTERS[place] for place in chosen)) + "#region",
        )
        for chosen in inside
    )


def _told(inside: Sequence[str], outside: Sequence[str]) -> str:
    together = " and ".join(inside)
    return f"{together} only" if len(inside) == 1 else f"{together}, not {outside[0]}" if outside else together


def counts_of(overlap: SubjectOverlap) -> dict[tuple[int, ...], int]:
    """Compute how much each region holds: what is in some subjects and in none of the others."""
    sizes = [each.observation_count for each in overlap.subjects]
    pairs = dict(
        zip(combinations(range(len(sizes)), 2), (each.observation_count for each in overlap.pairs), strict=True)
    )
    every = overlap.all_three or 0
    found: dict[tuple[int, ...], int] = {}
    for place, size in enumerate(sizes):
        shared = sum(count for pair, count in pairs.items() if place in pair)
        # What all three share was counted in both pairs. An estimate may be off: no region holds less than nothing.
        found[(place,)] = max(0, size - shared + (every if len(sizes) > 2 else 0))
    for pair, count in pairs.items():
        found[pair] = max(0, count - every) if len(sizes) > 2 else count
    if len(sizes) > 2:
        found[0, 1, 2] = every
    return found


def _drawn(overlap: SubjectOverlap, regions: tuple[VennRegion, ...]) -> DrawnVenn:
    return draw(
        Venn(
            names=tuple(each.name for each in overlap.subjects),
            sizes=tuple(each.observation_count for each in overlap.subjects),
            pairs=tuple(each.observation_count for each in overlap.pairs),
            all_three=overlap.all_three or 0,
            regions=regions,
        )
    )


def _opened(visit: Visit, overlap: SubjectOverlap) -> RegionContents | None:
    """Read a page of the region that was chosen."""
    letters = visit.asked("region")
    names = dict(zip(_LETTERS, (each.name for each in overlap.subjects), strict=False))
    inside = [name for letter, name in names.items() if letter in letters]
    if not inside:
        return None
    outside = [name for name in names.values() if name not in inside]
    return visit.workspace.semantic.open_region(
        inside,
        outside=outside,
        cursor=visit.asked("cursor") or None,
        limit=_OBSERVATIONS,
        max_tokens=_PAGE_TOKENS,
    )


PATHS = (look(f"{WORKSPACE}venn", venn),)
