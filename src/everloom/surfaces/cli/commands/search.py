"""`everloom search`: the one search, from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from everloom.clock import read_instant, shown
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, fields_of, shortened

if TYPE_CHECKING:
    from everloom.kernel.search import Findings, Hit, Scope


@click.command(cls=Command)
@click.argument("cue", nargs=-1, required=True)
@click.option("--limit", type=int, default=10, show_default=True, help="How many hits at most.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--from", "begin", metavar="DATE", help="Only what happened then or later.")
@click.option("--until", "end", metavar="DATE", help="Only what happened then or earlier.")
@click.option("--as-of", metavar="DATE", help="Answer from what was believed then.")
@click.option("--explain", is_flag=True, help="Say of each hit why it ranked where it did.")
@click.pass_obj
def search(invocation: Invocation, /, cue: tuple[str, ...], limit: int, explain: bool, **within: Any) -> Answer:
    """Bring back what a cue touches, strongest first."""
    with invocation.open() as loom:
        workspace = invocation.take(loom)
        zone = workspace.info.zone
        findings = workspace.find(" ".join(cue), limit=limit, within=scope_of(zone, **within))
    if findings.degraded:
        click.echo(f"Warning: {findings.degraded}", err=True)
    return Answer(result(findings), [*lines(findings, zone, explain)])


def scope_of(zone: ZoneInfo, *, kinds: tuple[str, ...], begin: str | None, end: str | None, as_of: str | None) -> Scope:
    """Read where to look; bare dates are days in the workspace's zone, counted whole."""
    from everloom.kernel.search import Scope  # noqa: PLC0415  loads numpy

    return Scope(
        kinds=frozenset(kinds) or None,
        happened_from=read_instant(begin, zone) if begin else None,
        happened_until=read_instant(end, zone, end_of_day=True) if end else None,
        as_of=read_instant(as_of, zone, end_of_day=True) if as_of else None,
    )


def result(findings: Findings) -> dict[str, object]:
    """Write the findings for programs, with the reasons in words."""
    hits = [{**fields_of(hit), "source": hit.source, "explanation": hit.explain()} for hit in findings.hits]
    told = {"kinds": findings.kinds, "by_vectors": findings.by_vectors, "degraded": findings.degraded}
    return {"hits": hits, **told}


def lines(findings: Findings, zone: ZoneInfo, explain: bool) -> Iterator[str]:
    """Write the findings for people."""
    if not findings.hits:
        yield "nothing found"
    for hit in findings.hits:
        yield from hit_lines(hit, zone, explain)
    if len(findings.kinds) > 1:
        yield "kinds: " + ", ".join(f"{kind} {count:,}" for kind, count in findings.kinds.items())


def hit_lines(hit: Hit, zone: ZoneInfo, explain: bool) -> Iterator[str]:
    """Write one hit: its id, score, kind and time, then what it says."""
    labels = f"  [{', '.join(hit.labels)}]" if hit.labels else ""
    yield f"{hit.id}  {hit.score:.2f}  {hit.kind}  {shown(hit.happened_at, zone)}{labels}"
    yield f"    {shortened(f'{hit.title}: {hit.text}' if hit.title else hit.text)}"
    if explain:
        yield from (f"    · {reason}" for reason in hit.explain())
