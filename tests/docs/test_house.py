"""Rules of the layout that can be checked: small documented packages, unique class names, no import cycles."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

SOURCE = ROOT / "src" / "everloom"
MODULES = sorted(SOURCE.rglob("*.py"))
ROOMS = sorted({file.parent for file in MODULES} - {SOURCE})
MOST_MODULES = 14


def place(file: Path) -> str:
    """Name a file as a reader of the tree sees it."""
    return file.relative_to(SOURCE).as_posix()


def classes_in(file: Path) -> Iterator[str]:
    """List the classes of a module, also those inside others."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.name


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for file in MODULES:
        for name in classes_in(file):
            homes[name].append(place(file))
    twice = {name: found for name, found in sorted(homes.items()) if len(found) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(found)}" for name, found in twice.items())


@pytest.mark.parametrize("room", ROOMS, ids=place)
def test_a_room_holds_few_modules_and_says_what_it_owns(room: Path) -> None:
    modules = [file.stem for file in room.glob("*.py") if file.stem not in {"__init__", "__main__"}]
    assert len(modules) <= MOST_MODULES, f"{len(modules)} modules; find what is one idea, or open another room"
    door = ast.parse((room / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(door), "the front door says what the room owns"


def imports_of(file: Path) -> Iterator[str]:
    """List what a module imports while it is imported itself, the packages above each included."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def test_every_module_can_be_imported_first() -> None:
    names = {file: ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts) for file in MODULES}
    graph = {}
    for file, name in names.items():
        own = name.removesuffix(".__init__")
        needed = {each for each in imports_of(file) if each.startswith("everloom.")}
        needed |= {".".join(each.split(".")[:depth]) for each in needed for depth in range(2, each.count(".") + 1)}
        graph[own] = needed - {own} - {".".join(own.split(".")[:depth]) for depth in range(1, own.count(".") + 1)}
    try:
        TopologicalSorter({name: needed & graph.keys() for name, needed in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail("these import each other in a circle: " + " → ".join(reversed(error.args[1])))
