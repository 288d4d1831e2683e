"""What recognising secrets costs, and how often it is wrong: conversations and pages are read, and hits are counted.

    python benchmarks/secrecy.py [--json] FILE_OR_DIRECTORY...

A file of conversations has the shape that `everloom bench retrieval` reads; of a directory, its Markdown pages are
read, each paragraph a text. Nobody put a secret into either, so every hit is looked at: the kinds are counted, and the
values are not printed. The share of a write is that of the screen in `add_observations`, on a store in a temporary
directory.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from everloom.loom import open_loom  # noqa: E402  the path is set above
from everloom.secrets import spans_in  # noqa: E402
from everloom.semantic import NewObservation  # noqa: E402
from everloom.settings import Settings  # noqa: E402

WRITTEN = 2_000
BATCH = 200


def texts_in(place: Path) -> Iterator[str]:
    """Read the texts of a file of conversations, or of the pages below a directory."""
    if place.is_dir():
        for page in sorted(place.rglob("*.md")):
            yield from filter(None, map(str.strip, page.read_text(encoding="utf-8").split("\n\n")))
        return
    yield from _strings(json.loads(place.read_text(encoding="utf-8")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def read(texts: list[str]) -> dict[str, Any]:
    """Read texts, count the hits of each kind, and time it."""
    spans_in(texts[0])
    began = time.process_time()
    found = Counter(span.kind for text in texts for span in spans_in(text))
    took = time.process_time() - began
    return {
        "texts": len(texts),
        "characters": sum(map(len, texts)),
        "hits": dict(found),
        "microseconds": round(took / len(texts) * 1e6, 1),
        "nanoseconds_per_character": round(took / sum(map(len, texts)) * 1e9, 1),
    }


def write_share(texts: list[str]) -> float:
    """Measure which share of a write the screen takes."""
    with TemporaryDirectory() as folder, open_loom(f"sqlite://{folder}/loom.db", settings=Settings()) as loom:
        semantic = loom.workspace().semantic
        given = [NewObservation(subject_names=("talk",), content=text) for text in texts if text.strip()]
        semantic.remember(["talk"], "warm")
        began = time.process_time()
        for start in range(0, len(given), BATCH):
            semantic.add_observations(given[start : start + BATCH])
        wrote = time.process_time() - began
        began = time.process_time()
        for text in texts:
            spans_in(text)
        return (time.process_time() - began) / wrote


def main() -> None:
    """Read the command line, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    rows = []
    for place in chosen.places:
        texts = list(texts_in(place))
        rows.append({"place": place.name, **read(texts), "share_of_a_write": round(write_share(texts[:WRITTEN]), 4)})
    sys.stdout.write(f"{json.dumps(rows) if chosen.json else chr(10).join(map(told, rows))}\n")


def told(row: dict[str, Any]) -> str:
    """Write one row for a person."""
    hits = ", ".join(f"{kind} {count}" for kind, count in row["hits"].items()) or "none"
    speed = f"{row['microseconds']} µs a text, {row['nanoseconds_per_character']} ns a character"
    size = f"{row['texts']:,} texts, {row['characters']:,} characters"
    return f"{row['place']}: {size}; hits: {hits}; {speed}; {row['share_of_a_write']:.1%} of a write"


if __name__ == "__main__":
    main()
