"""A directory of the first system, three hundred files of which fifteen are broken, opened in every way there is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from everloom.graph.results import FileProblem
from tests.graph.ground import open_with
from tests.graph.original import Original, write_original


@pytest.fixture
def original(tmp_path: Path) -> Original:
    """A directory of the first system, freshly written."""
    return write_original(tmp_path / "original")


def assert_named(original: Original, problems: Iterable[FileProblem]) -> None:
    """Prove that each broken file is named with its reason, and that nothing else is."""
    named = {each.path: each.reason for each in problems}
    assert named.keys() == original.broken.keys()
    assert [path for path, reason in original.broken.items() if reason not in named[path]] == []
    assert [copy for copy, owner in original.duplicates.items() if owner not in named[copy]] == []


@pytest.mark.promise("graph.import")
def test_broken_files_hide_none_of_the_others(store_url: str, original: Original) -> None:
    before = original.bytes_of()
    with open_with(store_url, original.directory) as loom:
        graph = loom.workspace().graph
        stats = graph.stats(max_tokens=5_000)
        assert (stats.memories, stats.edges) == (len(original.memories), len(original.edges)) == (240, 45)
        assert_named(original, stats.problems)
        assert_named(original, graph.follow().problems)
    assert original.bytes_of() == before
