"""Resolves the types that verbs and their results are declared with, though they are imported for type checkers only.

Whoever describes an answer, or makes one again from JSON, reads its type here. Refuses to know any verb.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints


def returned_by(method: Any) -> Any:
    """Resolve the type that a verb returns."""
    return get_type_hints(method, globalns=names_in(method.__module__), include_extras=False)["return"]


@cache
def names_in(module: str) -> dict[str, Any]:
    """List the names that the annotations of a module may use, with those that it imports for type checkers only."""
    known = sys.modules[module]
    found = dict(vars(known))
    for node in ast.parse(inspect.getsource(known)).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found |= {name: each for line in node.body for name, each in _imports_of(line)}
    return found


def _imports_of(line: ast.stmt) -> Iterator[tuple[str, Any]]:
    if isinstance(line, ast.ImportFrom) and line.module and line.module.startswith("everloom."):
        for alias in line.names:
            yield alias.asname or alias.name, _imported(line.module, alias.name)


def _imported(module: str, name: str) -> Any:
    """Import a name from a module; it may be a module itself."""
    home = import_module(module)
    return getattr(home, name) if hasattr(home, name) else import_module(f"{module}.{name}")
