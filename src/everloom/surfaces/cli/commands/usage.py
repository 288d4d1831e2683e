"""`everloom usage` and `everloom models`: what language models used, with a plot, and what is known about them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

import click

from everloom.surfaces.cli.render.plot import Bar, can_draw, plotted
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table
from everloom.wiring.faculties import FACULTIES
from everloom.wiring.usage import Grouping

if TYPE_CHECKING:
    from everloom.models.catalog import ModelFacts, Price

# More bars than this fill the screen; the table has all rows.
_MOST_BARS = 60


@click.command(cls=Command)
@click.option("--days", default=7, show_default=True, type=click.IntRange(1, 3660), help="The number of days to show.")
@click.option(
    "--by", default="day", show_default=True, type=click.Choice(get_args(Grouping)), help="How to group the figures."
)
def usage(invocation: Invocation, days: int, by: Grouping) -> Answer:
    """Show what language models used: tokens, cache, dollars, context."""
    with invocation.enter() as place:
        found = FACULTIES["workspace"].reach(place, {}).usage(days=days, by=by, max_tokens=None)
    return Answer(found, [*usage_lines(found.rows, by), *summary(found.total, found.today, found.alerts)])


def usage_lines(rows: Sequence[Mapping[str, Any]], by: str) -> list[str | Table]:
    """Write the rows as a table, then plot the dollars, or the tokens if no price is known."""
    headings = [by, "calls", "in", "out", "cached", "dollars"] + (["context"] if by == "turn" else [])
    table = Table([_line(row, by) for row in rows], headings)
    has_prices = any(row["dollars"] for row in rows)
    bars = [Bar(row["name"], *(_height(row, has_prices))) for row in rows[-_MOST_BARS:]]
    if not any(bar.value for bar in bars):
        return [table]
    columns = shutil.get_terminal_size((80, 24)).columns
    drawn = plotted(bars, columns, fine=can_draw(sys.stdout.encoding))
    return [table, f"\n{'dollars' if has_prices else 'tokens'} by {by}", *drawn]


def _line(row: Mapping[str, Any], by: str) -> tuple[object, ...]:
    """Write a row for people."""
    shown = (row["name"], row["calls"], row["prompt_tokens"], row["output_tokens"])
    context = [f"{row['context_share'] or 0.0:.1%} of {row['context_window']:,}"] if by == "turn" else []
    return (*shown, _share(row["cached_share"]), _money(row), *context)


def _share(value: float | None) -> str:
    """Write a share as a percentage."""
    return "-" if value is None else f"{value:.0%}"


def _money(row: Mapping[str, Any]) -> str:
    """Write an amount in dollars, and mark calls of unknown price."""
    if row["dollars"] is None:
        return "price unknown" if row["calls"] else "-"
    return f"${row['dollars']:.4f}{' + unknown' if row['unpriced'] else ''}"


def _height(row: Mapping[str, Any], has_prices: bool) -> tuple[float, str]:
    """Return the length of a row's bar, and its caption."""
    if has_prices:
        return (row["dollars"] or 0.0), _money(row)
    tokens = row["prompt_tokens"] + row["output_tokens"]
    return float(tokens), f"{tokens:,}"


def summary(total: Mapping[str, Any], today: Mapping[str, Any], alerts: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Write the total, what is left of today's budget, and the alerts that hold."""
    taken = f"{total['prompt_tokens']:,} tokens in ({_share(total['cached_share'])} from cache)"
    lines = [f"\ntotal {taken}, {total['output_tokens']:,} out, {_money(total)}"]
    if total["unpriced"]:
        lines.append(f"{total['unpriced']:,} calls of unknown price are not included in the dollars (models.prices)")
    spent = "price unknown" if today["dollars"] is None else f"${today['dollars']:.4f}"
    spent += " + unknown" if today["dollars"] is not None and today["unpriced"] else ""
    if today["budget"] is None:
        lines.append(f"today {spent}; no daily budget is set (mind.dollars_a_day)")
    else:
        note = "" if today["left"] else ": the smaller model converses until midnight"
        lines.append(f"today {spent} of ${today['budget']:.2f}, ${today['left']:.4f} left{note}")
    for each in alerts:
        told = "told" if each["told_at"] else "not told yet"
        lines.append(f"alert, {told}: {each['message'].strip('()')}")
    return lines


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[MODEL]")
def models(invocation: Invocation, name: str | None) -> Answer:
    """List the language models that are known: price, window, abilities."""
    from everloom.wiring.policies import catalog_of  # noqa: PLC0415  a help page needs no models

    known = invocation.settings()[0]
    catalog, chosen = catalog_of(known), {known.llm.large: "large", known.llm.small: "small"}
    named = [each for each in chosen if each] if name is None else [name]
    # What was chosen comes first, and what was asked for alone: also a model that nobody has listed.
    found = [replace(catalog.facts(each), name=each) for each in dict.fromkeys(named)]
    found += [each for each in catalog.listed() if each.name not in named] if name is None else []
    result = [{**asdict(each), "role": chosen.get(each.name)} for each in found]
    rows = [(each.name, chosen.get(each.name) or "", *_facts_line(each)) for each in found]
    headings = ("model", "role", "in", "out", "cached", "window", "thinking", "effort", "from")
    lines: list[str | Table] = [
        Table(rows, headings),
        "\nDollars per million tokens; cached: read/written/for an hour.",
    ]
    if any(each.price is None for each in found):
        lines.append("Set a price with `everloom config set models.prices MODEL=INPUT/OUTPUT`; see docs/running.md.")
    return Answer({"models": result}, lines)


def _facts_line(facts: ModelFacts) -> tuple[str, ...]:
    price = facts.price
    amounts = ("unknown", "unknown", "-") if price is None else ("free",) * 3 if price.is_free else _amounts(price)
    window = f"{facts.window:,}" if facts.window else "-"
    source = f"{facts.source}, {facts.as_of}" if facts.as_of else facts.source
    return (*amounts, window, facts.thinks or "-", " ".join(facts.efforts) or "-", source)


def _amounts(price: Price) -> tuple[str, str, str]:
    """Write a price, and from which size of a request on there is another one."""
    long = f" (over {price.long_from:,}: {price.long.input:g}/{price.long.output:g})" if price.long else ""
    limit = f" (up to {price.known_up_to:,})" if price.known_up_to else ""
    cached = "/".join(f"{each:g}" for each in (price.cached_read, price.cached_written, price.hour))
    return f"{price.input:g}", f"{price.output:g}{long}{limit}", cached
