"""Compare how well secrets are recognised in texts of which it is known what is secret: here, and by detect-secrets.

    python benchmarks/screening.py [--json] [--list] FILE...

A file is TOML, an array of tables `[[text]]` with `id`, `language`, `kind` ("harmless", or the kind of its secret) and
`text`, in which each secret stands between `⟦` and `⟧` and contains one `⁞`, which is left out. So no scanner takes
the file for a leak. A redaction is exact if nothing but the secret is replaced, and all of it. detect-secrets is not a
dependency: `pip install detect-secrets` into the same environment adds its rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from everloom.secrets import spans_in  # noqa: E402  the path is set above

Span = tuple[int, int]
# Quotes and punctuation that belong to the secret or do not, as one reads it.
SLACK = 2


@dataclass(frozen=True, slots=True)
class KnownText:
    """A text, and where its secrets are."""

    id: str
    language: str
    kind: str
    text: str
    secrets: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """What one recogniser made of one file; the ids are those of the texts that it got wrong."""

    file: str
    recogniser: str
    harmless: int
    false: tuple[str, ...]
    secret: int
    missed: tuple[str, ...]
    inexact: tuple[str, ...]

    def __str__(self) -> str:
        found, exact = self.secret - len(self.missed), self.secret - len({*self.missed, *self.inexact})
        figures = f"{len(self.false)}/{self.harmless} | {found}/{self.secret} | {exact}/{self.secret}"
        return f"| {self.file} | {self.recogniser} | {figures} |"


def read_texts(file: Path) -> list[KnownText]:
    """Read a file of marked texts."""
    return [_marked(each) for each in tomllib.loads(file.read_text(encoding="utf-8"))["text"]]


def _marked(row: dict[str, str]) -> KnownText:
    text, secrets, began = "", [], 0
    for char in row["text"].replace("⁞", ""):
        if char == "⟦":
            began = len(text)
        elif char == "⟧":
            secrets.append((began, len(text)))
        else:
            text += char
    if (row["kind"] == "harmless") is bool(secrets):
        raise ValueError(f"{row['id']}: a text has marked secrets unless its kind is harmless")
    return KnownText(row["id"], row["language"], row["kind"], text, tuple(secrets))


def score(file: Path, recogniser: str, find: Callable[[str], Sequence[Span]]) -> Score:
    """Let a recogniser read a file."""
    false, missed, inexact = [], [], []
    texts = read_texts(file)
    for each in texts:
        found = find(each.text)
        if not each.secrets:
            false += [each.id] if found else []
        elif not all(any(one < end and start < two for one, two in found) for start, end in each.secrets):
            missed.append(each.id)
        elif not is_exact(each, found):
            inexact.append(each.id)
    harmless = sum(not each.secrets for each in texts)
    told = (tuple(false), len(texts) - harmless, tuple(missed), tuple(inexact))
    return Score(file.name, recogniser, harmless, *told)


def is_exact(each: KnownText, found: Sequence[Span]) -> bool:
    """Return whether every secret of a text was found, and nothing beside them but a character or two."""
    pairs = list(zip(each.secrets, found, strict=False))
    near = all(abs(a - c) <= SLACK and abs(b - d) <= SLACK for (a, b), (c, d) in pairs)
    return near and len(found) == len(each.secrets)


def found_here(text: str) -> list[Span]:
    """Find the secrets of a text as everloom does."""
    return [(each.start, each.end) for each in spans_in(text)]


def found_by_detect_secrets(text: str) -> list[Span]:
    """Find the secrets of a text as detect-secrets does in a file, with its default settings."""
    from detect_secrets.core.scan import scan_file  # type: ignore[import-not-found]  # noqa: PLC0415  may be missing
    from detect_secrets.settings import default_settings  # type: ignore[import-not-found]  # noqa: PLC0415

    found, starts = [], [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    # A file, because its function for a single line also reports what is below its thresholds.
    with default_settings(), tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        for each in scan_file(file.name):
            start = text.find(each.secret_value or "", starts[each.line_number - 1])
            if each.secret_value and start >= 0:
                found.append((start, start + len(each.secret_value)))
    # Several of its plugins name the same characters, or parts of them.
    return sorted(one for one in found if not any(o != one and o[0] <= one[0] and one[1] <= o[1] for o in found))


def main() -> None:
    """Read the command line, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--list", action="store_true", help="name the texts that are not as they should be")
    chosen = parser.parse_args()
    scores = [score(file, "everloom", found_here) for file in chosen.files]
    try:
        scores += [score(file, "detect-secrets", found_by_detect_secrets) for file in chosen.files]
    except ModuleNotFoundError:
        sys.stderr.write("detect-secrets is not installed: `pip install detect-secrets` adds its rows\n")
    if chosen.json:
        sys.stdout.write(json.dumps([asdict(each) for each in scores], indent=2) + "\n")
        return
    lines = [
        "| texts | recogniser | false positives | found | redacted exactly |",
        "|---|---|---|---|---|",
        *map(str, scores),
    ]
    if chosen.list:
        lines += [f"{s.file}, {s.recogniser}: false {s.false}, missed {s.missed}, inexact {s.inexact}" for s in scores]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
