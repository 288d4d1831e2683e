"""Names of modules and classes use words of the domain, which the glossary explains, or plain words, which are listed.

A word counts in any of its forms: `Remembered` is found by "remember". Failing here means: choose a word that is there,
write a line about a new idea, or add a plain word that every programmer knows to `words.txt`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom.kernel.texts import stem
from tests.docs.pages import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
SOURCE = ROOT / "src" / "everloom"
PLAIN = ROOT / "tests" / "docs" / "words.txt"
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
WORD = re.compile(r"[A-Za-z]+")


def names_in(folder: Path) -> Iterator[tuple[str, str]]:
    """List the modules and public classes below a folder, each with where it is."""
    for file in sorted(folder.rglob("*.py")):
        place = file.relative_to(SOURCE).as_posix()
        if file.stem != "__init__":
            yield file.stem, place
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, place


def form(word: str) -> str:
    """Reduce a word to what its forms share; stop words stay as they are."""
    return stem(word.lower()) or word.lower()


def forms_in(file: Path) -> set[str]:
    """Read the words of a text, each reduced to what its forms share."""
    return {form(word) for word in WORD.findall(file.read_text(encoding="utf-8"))}


@pytest.mark.promise("docs.glossary")
def test_names_in_the_code_use_words_of_the_glossary_or_plain_ones() -> None:
    known = forms_in(GLOSSARY) | forms_in(PLAIN)
    unknown: dict[str, list[str]] = {}
    for title, place in names_in(SOURCE):
        for part in PART.findall(title):
            if form(part) not in known:
                unknown.setdefault(part.lower(), []).append(f"{title} in {place}")
    lines = [f"{word}: {', '.join(uses[:3])}" for word, uses in sorted(unknown.items())]
    advice = "Choose another word, explain it in docs/glossary.md, or add it to tests/docs/words.txt if it is plain."
    assert not unknown, "\n".join([advice, *lines])


def test_plain_words_are_sorted_and_used() -> None:
    listed = [line for line in PLAIN.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    words = " ".join(listed).split()
    assert words == sorted(set(words))
    used = {form(part) for title, _ in names_in(SOURCE) for part in PART.findall(title)}
    idle = [word for word in words if form(word) not in used]
    assert not idle, f"no name uses these any more: {' '.join(idle)}"


def test_every_line_of_the_glossary_explains_one_word() -> None:
    entries = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    words = [word.lower() for word, _ in entries]
    assert words, "the glossary is a list of `- **word**: explanation`"
    assert len(words) == len(set(words)), sorted(word for word in set(words) if words.count(word) > 1)
    assert all(text.endswith(".") for _, text in entries), [word for word, text in entries if not text.endswith(".")]
