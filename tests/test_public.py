"""What the package offers: few names, sorted, each of them there, and none loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import everloom
from everloom.errors import MEANING, EverloomError, meaning_of
from tests.store.ground import ROOT


@pytest.mark.promise("public.names")
def test_the_public_names_are_sorted_and_at_most_thirty() -> None:
    assert everloom.__all__ == sorted(everloom.__all__)
    assert len(everloom.__all__) == len(set(everloom.__all__)) <= 30


@pytest.mark.promise("public.names")
@pytest.mark.parametrize("name", everloom.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(everloom, name).__name__ == name


def test_what_is_not_offered_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = everloom.nonsense


@pytest.mark.promise("public.lazy")
def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numpy", "pydantic", "psycopg", "sqlite3", "httpx2", "tokenizers"}
    code = f"import everloom, sys; print(*({heavy!r} & sys.modules.keys()))"
    environment = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == ""


@pytest.mark.promise("errors.meaning")
def test_every_error_means_something_on_every_surface() -> None:
    def below(kind: type[EverloomError]) -> set[type[EverloomError]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    ours = {kind for kind in below(EverloomError) if kind.__module__ == "everloom.errors"}
    assert ours == MEANING.keys()
    assert len({meaning.mcp_code for meaning in MEANING.values()}) == len(MEANING)
    for kind in ours:
        error = kind("it went wrong", hint="try this")
        assert str(error) == "it went wrong (try this)"
        assert meaning_of(error) == MEANING[kind]
        assert 400 <= meaning_of(error).http_status < 600
        assert meaning_of(error).exit_code > 0


@pytest.mark.promise("errors.meaning")
def test_an_error_of_a_faculty_means_what_its_ancestor_means() -> None:
    class SceneLocked(everloom.Conflict):
        pass

    assert meaning_of(SceneLocked("it is locked")) == MEANING[everloom.Conflict]
