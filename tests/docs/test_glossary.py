"""A word that is not in the glossary is not in the code: names of modules and classes use words that it explains.

A word counts as explained wherever it stands in the glossary, in any form: `Remembered` is found by "remember". Failing
here means: choose a word that is there, write a line about the new one, or add it to the plain words at the end.
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
ROOMS = ("kernel", "semantic", "episodic", "graph", "mind")
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


@pytest.mark.promise("docs.glossary")
def test_names_in_the_code_use_words_of_the_glossary() -> None:
    explained = {form(word) for word in WORD.findall(GLOSSARY.read_text(encoding="utf-8"))}
    unknown: dict[str, list[str]] = {}
    for room in ROOMS:
        for title, place in names_in(SOURCE / room):
            for part in PART.findall(title):
                if form(part) not in explained:
                    unknown.setdefault(part.lower(), []).append(f"{title} in {place}")
    lines = [f"{word}: {', '.join(uses[:3])}" for word, uses in sorted(unknown.items())]
    advice = "Choose another word, explain it in docs/glossary.md, or add it to the plain words there."
    assert not unknown, "\n".join([advice, *lines])


def test_every_line_of_the_glossary_explains_one_word() -> None:
    entries = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    words = [word.lower() for word, _ in entries]
    assert words, "the glossary is a list of `- **word**: explanation`"
    assert len(words) == len(set(words)), sorted(word for word in set(words) if words.count(word) > 1)
    assert all(text.endswith(".") for _, text in entries), [word for word, text in entries if not text.endswith(".")]
