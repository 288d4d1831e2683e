"""The project's pages as tests read them: fenced blocks, links, headings.

A block of `python` runs. A block of `console` runs command by command; what stands below one must be what it writes:
`…` stands for anything on a line, and a line of `…` for any lines. A block marked `norun` is checked for its form only.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
INLINE = re.compile(r"`[^`\n]*`")
PROMPT = "$ "


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is where its content begins."""

    language: str
    marks: frozenset[str]
    text: str
    line: int

    @property
    def runs(self) -> bool:
        """Say whether the block is carried out."""
        return "norun" not in self.marks


@dataclass(slots=True)
class Shown:
    """A command as a page shows it, and the lines below it."""

    command: str
    line: int
    below: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Read the command as a shell would."""
        return shlex.split(self.command)


def pages() -> list[Path]:
    """List every page of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name(page: Path) -> str:
    """Name a page as people do."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Read the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], frozenset(found[2].split()), found[3], text[: found.start(3)].count("\n") + 1)
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> list[Shown]:
    """Read the commands of a console block, each with what stands below it."""
    found: list[Shown] = []
    for place, line in enumerate(block.text.splitlines()):
        if line.startswith(PROMPT):
            found.append(Shown(line.removeprefix(PROMPT), block.line + place))
        elif found:
            found[-1].below.append(line)
    return found


def links(page: Path) -> Iterator[str]:
    """Find the links of a page that lead to other pages of the project."""
    prose = INLINE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    return (target for target in LINK.findall(prose) if "://" not in target and not target.startswith("mailto:"))


def anchors(page: Path) -> set[str]:
    """Name the headings of a page as links do."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose)}


def texts() -> Iterator[Path]:
    """Find every file that belongs to the project and holds text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        files = [ROOT / path for path in listed.stdout.decode().split("\0") if path]
    else:
        files = [*pages(), *(ROOT / "src").rglob("*"), *(ROOT / "tests").rglob("*")]
    for file in files:
        if file.is_file() and b"\0" not in file.read_bytes()[:8000]:
            yield file
