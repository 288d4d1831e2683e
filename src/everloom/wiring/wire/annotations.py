"""Resolves the types that verbs and their results are declared with, though they are imported for type checkers only.

Whoever describes an answer, or makes one again from JSON, reads its type here. Imports only the modules of the types
that it is asked for. Refuses to know any verb.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import UserDict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints


def returned_by(method: Any) -> Any:
    """Resolve the type that a verb returns."""
    # By its function: a method that is bound would keep its workspace for as long as the process lives.
    return _returned_by(getattr(method, "__func__", method))


@cache
def _returned_by(method: Any) -> Any:
    # Only that: the types of its parameters may live in modules that nobody needs for this.
    written = {"__annotations__": {"returned": method.__annotations__["return"]}, "__module__": method.__module__}
    return hints_of(type("Signature", (), written))["returned"]


def hints_of(kind: type) -> dict[str, Any]:
    """Resolve the types of the fields of a class."""
    module = kind.__module__
    return get_type_hints(kind, globalns=vars(sys.modules[module]), localns=_checked_names(module))


class _CheckedNames(UserDict[str, Any]):
    """Names that a module imports for type checkers only, imported when they are asked for."""

    def __init__(self, places: dict[str, tuple[str, str]]) -> None:
        super().__init__()
        self._places = places

    def __missing__(self, name: str) -> Any:
        module, wanted = self._places[name]
        home = import_module(module)
        # What a package holds may be a module itself.
        self.data[name] = getattr(home, wanted) if hasattr(home, wanted) else import_module(f"{module}.{wanted}")
        return self.data[name]


@cache
def _checked_names(module: str) -> _CheckedNames:
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found |= {name: place for line in node.body for name, place in _imports_of(line)}
    return _CheckedNames(found)


def _imports_of(line: ast.stmt) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(line, ast.ImportFrom) and line.module and line.module.startswith("everloom."):
        for alias in line.names:
            yield alias.asname or alias.name, (line.module, alias.name)
