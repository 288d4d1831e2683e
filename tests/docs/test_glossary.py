"""The glossary is a list of terms, each explained once."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"


@pytest.mark.promise("docs.glossary")
def test_each_glossary_entry_explains_one_term() -> None:
    entries = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    words = [word.lower() for word, _ in entries]
    assert words, "the glossary is a list of `- **term**: explanation`"
    assert len(words) == len(set(words)), sorted(word for word in set(words) if words.count(word) > 1)
    assert all(text.endswith(".") for _, text in entries), [word for word, text in entries if not text.endswith(".")]
