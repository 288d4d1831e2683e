"""`everloom search`, `show`, `why` and `events`: find items, inspect them, trace them, and list operations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from everloom.clock import read_instant, shown
from everloom.surfaces.cli.runtime.command import Command, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, fields_of, shortened

if TYPE_CHECKING:
    from everloom.kernel.provenance import Reason, Shown
    from everloom.kernel.search import Findings, Hit, Scope

# What is worth less than what the agent says itself.
_UNTRUSTED = frozenset({"tool", "import", "web"})
_NOTHING_FITS = "nothing fits well; these are only the nearest"


@click.command(cls=Command)
@click.argument("cue", nargs=-1, required=True)
@click.option("--limit", type=int, default=10, show_default=True, help="Maximum number of hits.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--from", "begin", metavar="DATE", help="Only what happened on or after this date.")
@click.option("--until", "end", metavar="DATE", help="Only what happened on or before this date.")
@click.option("--as-of", metavar="DATE", help="Search what was current at this time.")
@click.option("--fits-only", is_flag=True, help="Only what answers the question.")
@click.option("--explain", is_flag=True, help="Explain why each hit ranked where it did.")
def search(
    invocation: Invocation, /, cue: tuple[str, ...], limit: int, fits_only: bool, explain: bool, **within: Any
) -> Answer:
    """Search all memories, best match first."""
    with invocation.enter() as workspace:
        zone = workspace.info.zone
        findings = workspace.find(" ".join(cue), limit=limit, within=_scope_of(zone, **within), fits_only=fits_only)
    # On stderr, so that it neither breaks JSON nor ends up in a pipe; programs find it in the result.
    if findings.degraded:
        click.echo(f"Warning: {findings.degraded}", err=True)
    return Answer(_findings_result(findings), [*_findings_lines(findings, zone, explain)])


def _scope_of(
    zone: ZoneInfo, *, kinds: tuple[str, ...], begin: str | None, end: str | None, as_of: str | None
) -> Scope:
    """Parse the filters; a bare date means the whole day in the workspace's time zone."""
    from everloom.kernel.search import Scope  # noqa: PLC0415  loads numpy

    return Scope(
        kinds=frozenset(kinds) or None,
        happened_from=read_instant(begin, zone) if begin else None,
        happened_until=read_instant(end, zone, end_of_day=True) if end else None,
        as_of=read_instant(as_of, zone, end_of_day=True) if as_of else None,
    )


def _findings_result(findings: Findings) -> dict[str, object]:
    """Write the findings for programs, with explanations as text."""
    hits = [{**_spare(fields_of(hit)), "source": hit.source, "explanation": _explained(hit)} for hit in findings.hits]
    told = {"kinds": findings.kinds, "fits": findings.fits, "by_vectors": findings.by_vectors}
    note = findings.note if findings.fits or not hits else _NOTHING_FITS
    return {"hits": hits, **told, **_spare({"note": note, "degraded": findings.degraded})}


def _spare(fields: dict[str, object]) -> dict[str, object]:
    """Leave out what is null or empty, as in every other result."""
    return {name: value for name, value in fields.items() if value not in (None, (), {})}


def _explained(hit: Hit) -> list[str]:
    """Explain why a hit ranked where it did, and how likely it is that it answers the question."""
    enough = "enough to call it an answer" if hit.fits else "too little to call it an answer"
    return [f"how likely it is that this answers the question: {hit.answers:.2f}, {enough}", *hit.explain()]


def _findings_lines(findings: Findings, zone: ZoneInfo, explain: bool) -> Iterator[str]:
    """Write the findings for people."""
    if not findings.fits:
        yield _NOTHING_FITS if findings.hits else findings.note or "nothing found"
    for hit in findings.hits:
        yield from _hit_lines(hit, zone, explain)
    if len(findings.kinds) > 1:
        yield "kinds: " + ", ".join(f"{kind} {count:,}" for kind, count in findings.kinds.items())


def _hit_lines(hit: Hit, zone: ZoneInfo, explain: bool) -> Iterator[str]:
    """Write one hit: its id, how likely it answers, its kind and time, then its text and what it stands for."""
    labels = f"  [{', '.join(hit.labels)}]" if hit.labels else ""
    archived = "  (archived)" if hit.is_archived else ""
    yield f"{hit.id}  {hit.answers:.2f}  {hit.kind}  {shown(hit.happened_at, zone)}{labels}{archived}"
    yield f"    {shortened(f'{hit.title}: {hit.text}' if hit.title else hit.text)}"
    if hit.also:
        yield f"    stands for {', '.join(map(str, hit.also))}"
    if explain:
        yield from (f"    · {reason}" for reason in _explained(hit))


@click.command(cls=Command)
@click.argument("item_id", metavar="ID", type=ItemId)
def show(invocation: Invocation, item_id: int) -> Answer:
    """Show everything that is known about an item."""
    with invocation.enter() as workspace:
        item = workspace.show(item_id)
    text = [f"\n{item.text}"] if item.text else []
    return Answer(item, [Table([*_facts(item, workspace.info.zone)]), *text])


def _facts(item: Shown, zone: ZoneInfo) -> Iterator[tuple[str, object]]:
    """List the known facts about an item, without empty ones."""
    known = {
        # As text: a table writes numbers with thousands separators, which nobody can paste back as an id.
        "id": str(item.id),
        "kind": item.kind,
        "title": item.title,
        "labels": item.labels,
        "happened": item.happened_at and shown(item.happened_at, zone),
        "stored": shown(item.created_at, zone),
        "retired": item.retired_at and shown(item.retired_at, zone),
        "retired by": item.retired_by and str(item.retired_by),
        "standing": item.standing,
        "confidence": item.confidence,
        "model": item.model_tier,
        "session": item.session,
        "origin": item.origin if item.trust in _UNTRUSTED else None,
        "based on": item.sources,
        "accessed": f"{item.access.count} times" if item.access.count else None,
        "pinned": item.access.pinned or None,
        **item.detail,
    }
    yield from ((name, value) for name, value in known.items() if value not in (None, "", ()))
    for signal in item.signals:
        yield signal.verdict, f"{shown(signal.at, zone)} {signal.reason or ''}"


@click.command(cls=Command)
@click.argument("item_id", metavar="ID", type=ItemId)
@click.option("--after", metavar="ID", type=ItemId, help="Only its sources after this one, if there are many.")
def why(invocation: Invocation, item_id: int, after: int | None) -> Answer:
    """Trace an item back to its evidence."""
    with invocation.enter() as workspace:
        reason = workspace.why(item_id, after=after or 0)
    return Answer(reason, [*_branches(reason, workspace.info.zone)])


def _branches(reason: Reason, zone: ZoneInfo, indent: str = "") -> Iterator[str]:
    """Draw a chain of reasons as a tree."""
    session = f"  session {reason.session}" if reason.session else ""
    yield f"{reason.id}  {reason.kind}  {shown(reason.at, zone)}{session}  {shortened(reason.text, 120)}"
    if reason.is_cut:
        yield f"{indent}└─ …"
    for below in reason.because:
        is_last = below is reason.because[-1] and not reason.left_off
        first, *others = _branches(below, zone, indent + ("   " if is_last else "│  "))
        yield f"{indent}{'└─' if is_last else '├─'} {first}"
        yield from others
    if reason.left_off:
        last = reason.because[-1].id
        yield f"{indent}└─ {reason.left_off} more; `everloom why {reason.id} --after {last}` shows them"


@click.command(cls=Command)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Maximum number of results."
)
@click.option("--before", metavar="ID", type=ItemId, help="Only events before this one.")
def events(invocation: Invocation, limit: int, before: int | None) -> Answer:
    """List the operations recorded in a workspace, newest first."""
    with invocation.enter() as workspace:
        found = workspace.events(limit=limit, before=before)
    rows = []
    for each in found:
        at, session = shown(each.at, workspace.info.zone), each.session_id and str(each.session_id)
        detail = json.dumps(each.detail, ensure_ascii=False, default=str)
        rows.append((str(each.id), at, each.operation, session, detail))
    return Answer({"events": found}, [Table(rows, ("id", "at", "operation", "session", "detail"))])
