"""How search grows with the number of items, as a table and as a picture.

    python benchmarks/growth.py                        1,000 to 100,000 items
    python benchmarks/growth.py --items 10000 1000000 --to docs

Each size is a workspace of its own in a temporary SQLite file; plain words and plain vectors answer the same questions
on the same texts in the same run.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from everloom.bench.search import Measured, measure

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8d6a9f")
WIDTH, HEIGHT, EDGE = 640, 320, 60
Curves = Mapping[str, Sequence[tuple[float, float]]]


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def rows(found: Sequence[Measured]) -> list[str]:
    """Write the table."""
    systems = [each.system for each in found[0].searches]
    head = ["items", *(f"{name} p50 ms" for name in systems), f"{systems[0]} p95 ms", "import items/s"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for each in found:
        times = [f"{timing.p50:.1f}" for timing in each.searches]
        cells = [f"{each.items:,}", *times, f"{each.searches[0].p95:.1f}", f"{each.import_per_second:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def curves_of(found: Sequence[Measured]) -> Curves:
    """Take each system's times by size."""
    return {
        timing.system: [(each.items, each.searches[place].p50) for each in found]
        for place, timing in enumerate(found[0].searches)
    }


def draw(curves: Curves, file: Path) -> None:
    """Draw times against sizes, both in powers of ten."""
    points = [point for curve in curves.values() for point in curve]
    (left, right), (low, high) = (limits([point[axis] for point in points]) for axis in (0, 1))

    def at(point: tuple[float, float]) -> str:
        x = EDGE + WIDTH * (math.log10(point[0]) - left) / (right - left)
        y = EDGE + HEIGHT * (high - math.log10(point[1])) / (high - low)
        return f"{x:.1f},{y:.1f}"

    body = [f'<text x="{EDGE}" y="30">search p50, ms, by items in the workspace</text>']
    for power in range(left, right + 1):
        x, y = at((10**power, 10**low)).split(",")
        body.append(f'<text x="{x}" y="{float(y) + 20}" text-anchor="middle">{10**power:,}</text>')
    for power in range(low, high + 1):
        x, y = at((10**left, 10**power)).split(",")
        body.append(f'<line x1="{EDGE}" x2="{EDGE + WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        body.append(f'<text x="{EDGE - 8}" y="{y}" text-anchor="end">{10.0**power:g}</text>')
    for place, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        path = " ".join(at(point) for point in curve)
        body.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        body.append(f'<text x="{EDGE + 12}" y="{EDGE + 18 * (place + 1)}" fill="{colour}">{name}</text>')
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * EDGE} {HEIGHT + 2 * EDGE}" '
        f'font-family="sans-serif" font-size="13">\n' + "\n".join(body) + "\n</svg>\n"
    )


def limits(values: Sequence[float]) -> tuple[int, int]:
    """Find the powers of ten around values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where growth.svg is written")
    given = parser.parse_args()
    found = []
    for items in given.items:
        with TemporaryDirectory() as folder:
            found.append(measure(f"sqlite://{folder}/bench.db", items, given.queries, lambda _: None))
        say(f"{items:,} items: {found[-1].searches[0].p50:.1f} ms")
    say("\n".join(rows(found)))
    if given.to:
        draw(curves_of(found), given.to / "growth.svg")


if __name__ == "__main__":
    main()
