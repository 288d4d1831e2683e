"""What every text of the project is free of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, texts

FOREIGN = re.compile(
    r"(?<![\w./~])/(?:work|root)/|/tmp/probe|pypi\.org|pythonhosted\.org|npmjs\.|ghcr\.io|docker\.io|index-url"
)


@pytest.mark.promise("docs.no-foreign-places")
def test_no_text_names_a_machine_or_a_registry() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for file in texts()
        if file != Path(__file__).resolve()
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if FOREIGN.search(line)
    ]
    assert not found, "\n".join(found)
