"""Every statement has a name, exists on both engines, and is bound to one workspace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest

import everloom
from everloom.store.checksums import COLUMN, CONTENT, sealed
from everloom.store.migrations import steps
from everloom.store.statements import PARAMETER, PART, Engine, render, split_parts, statements

# One worker reads the source for all of them.
pytestmark = pytest.mark.xdist_group("source")

HOME = Path(str(resources.files("everloom.store"))) / "sql"
PACKAGE = Path(everloom.__file__).parent
HEADING = re.compile(r"^-- name: (\w+)(?: \((\w+)\))?$", re.MULTILINE)
BOUND = re.compile(
    r"workspace_id = :workspace\b|INSERT INTO \w+ \(workspace_id\b[^)]*\)\s*(VALUES \(:workspace\b|SELECT :workspace,)"
    r"|(UPDATE|DELETE FROM|SELECT time_zone FROM) workspace\b.*\bWHERE id = :workspace\b",
    re.DOTALL,
)
ENGINES: tuple[Engine, Engine] = ("sqlite", "postgresql")


def named_parts() -> Iterator[tuple[str, str, str]]:
    """Give each statement: its file and name, the mark on its heading, its text."""
    for file in sorted(HOME.glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        marks = {name: mark or "" for name, mark in HEADING.findall(text)}
        for name, body in split_parts(text).items():
            yield f"{file.name}:{name}", marks[name], body


def names_of_the_program() -> set[str]:
    """Find every statement that the program names above the store; benchmarks compare with others' SQL."""
    rooms = [each for each in PACKAGE.iterdir() if each.is_dir() and each.name not in {"store", "bench"}]
    files = {each.name.split(".")[0] for each in HOME.iterdir()}
    # A channel asks its service by names that look alike.
    return {name for room in rooms for name in names_used(room) if name.split(".")[0] in files}


@cache
def nodes_of(file: Path) -> list[ast.AST]:
    """Read a module of the program, once for all tests."""
    return [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


def called(call: ast.Call) -> str:
    """Say what a call calls, by its last name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def names_used(below: Path) -> set[str]:
    """Find every statement that Python code runs by its name."""
    return {
        str(node.args[0].value)
        for file in below.rglob("*.py")
        for node in nodes_of(file)
        if isinstance(node, ast.Call)
        and called(node) in {"run", "send", "one", "all", "many", "ask", "last", "_execute", "_asked", "look_up"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and re.fullmatch(r"[a-z]+\.[a-z_]+", str(node.args[0].value))
    }


@pytest.mark.promise("store.bound-to-a-workspace")
def test_every_statement_is_bound_to_a_workspace_unless_it_says_that_it_is_global() -> None:
    for place, mark, text in named_parts():
        assert mark in {"", "global", "marked"}, place
        if mark == "marked":
            # The words of SQLite's index carry their workspace; no other table is touched.
            assert re.findall(r"(?:FROM|INTO|JOIN) (\w+)", text) == ["words"], place
        elif mark == "":
            assert BOUND.search(text), f"{place} forgets its workspace"


def test_every_statement_says_what_it_is_for() -> None:
    mute = []
    for file in sorted(HOME.glob("*.sql")):
        lines = file.read_text(encoding="utf-8").splitlines()
        named = [(line, below) for line, below in pairwise(lines) if line.startswith("-- name: ")]
        mute += [f"{file.name}: {line}" for line, below in named if not re.match(r"-- [A-Z].* .+[.;:,a-z]$", below)]
    assert mute == [], "write one line of comment under the name"


@pytest.mark.promise("store.bound-to-a-workspace")
def test_every_joined_table_of_a_workspace_is_bound_too() -> None:
    schema = (PACKAGE / "store" / "schema.sql").read_text(encoding="utf-8")
    bound_tables = set(re.findall(r"CREATE TABLE (\w+) \(\n    workspace_id", schema))
    assert "document" in bound_tables
    for place, mark, text in named_parts():
        joined = [name for name in re.findall(r"(?:FROM|JOIN) (\w+)", text) if name in bound_tables]
        ties = len(
            re.findall(r"workspace_id = (?:\w+\.workspace_id|:workspace)|USING \(workspace_id\)|:workspace", text)
        )
        if not mark and len(joined) > 1:
            assert ties >= len(joined), f"{place} joins {joined} and binds only {ties}"


@pytest.mark.promise("store.same-statements")
def test_whatever_the_program_says_both_engines_understand() -> None:
    used = names_of_the_program()
    assert len(used) > 20
    for engine in ENGINES:
        assert used - statements(engine).keys() == set()


@pytest.mark.promise("store.same-statements")
def test_whatever_the_program_says_takes_the_same_values_on_both_engines() -> None:
    used = names_of_the_program()
    for name in used:
        assert parameters(name, "sqlite") == parameters(name, "postgresql"), name


def parameters(name: str, engine: Engine) -> set[str]:
    text = statements(engine)[name]
    found = PARAMETER.findall(text) if engine == "sqlite" else re.findall(r"%\((\w+)\)s", text)
    return set(found)


@pytest.mark.promise("store.same-statements")
@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_has_every_statement_that_it_names_itself(engine: Engine) -> None:
    assert names_used(PACKAGE / "store" / engine) - statements(engine).keys() == set()


def test_there_is_no_statement_that_nobody_says() -> None:
    # The tests of units count items as the simplest thing to ask.
    said, patterns = {"kernel.item_counts"}, set()
    for file in PACKAGE.rglob("*.py"):
        for node in nodes_of(file):
            if isinstance(node, ast.Constant):
                said.add(str(node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = (str(each.value) if isinstance(each, ast.Constant) else "*" for each in node.values)
                patterns.add(tuple("".join(parts).split("*")))
    pairs = [each for each in patterns if len(each) == 2]
    for name in {name for engine in ENGINES for name in statements(engine)} - said:
        # A name may be put together from its room and the rest, if the rest is written somewhere.
        composed = any(
            before.startswith(f"{name.split('.')[0]}.")
            and name.startswith(before)
            and name.endswith(after)
            and name[len(before) : len(name) - len(after)] in said
            for before, after in pairs
        )
        assert composed, f"nobody says {name}"


def test_an_engine_says_in_its_own_way_only_what_there_is_or_what_it_alone_names() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in (PACKAGE / "store" / "postgresql").glob("*.py"))
    for file in HOME.glob("*.postgresql.sql"):
        for part in parts_of(file):
            name = f"{file.name.split('.')[0]}.{part}"
            assert name in statements("sqlite") or f'"{name}"' in code, f"nobody says {name}"


def test_what_is_below_a_path_is_found_in_a_database_of_any_language() -> None:
    # Many languages leave out signs at first, and "a/b" is then not between "a/" and "a0". The server that tests run
    # against knows no language, so the text has to say it.
    for name, text in statements("postgresql").items():
        assert not re.search(r"\b(path|namespace|name_key) (<|>=) ", text), name


def parts_of(file: Path) -> list[str]:
    return list(split_parts(file.read_text(encoding="utf-8")))


def test_no_name_is_used_twice_in_a_file() -> None:
    for file in HOME.glob("*.sql"):
        names = PART.findall(file.read_text(encoding="utf-8"))
        assert len(names) == len(set(names)), file.name


def test_lists_and_values_are_written_as_each_driver_wants_them() -> None:
    text = "SELECT 1 FROM t WHERE a = :one AND b IN (:*many) AND c::bigint = 5 AND d LIKE '%x'"
    assert render(text, "sqlite").count("json_each(:many)") == 1
    assert render(text, "postgresql") == (
        "SELECT 1 FROM t WHERE a = %(one)s AND b = ANY(%(many)s) AND c::bigint = 5 AND d LIKE '%%x'"
    )


def test_no_sql_is_written_outside_the_store() -> None:
    statement = re.compile(r"\b(SELECT .+ FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b")
    for each in PACKAGE.rglob("*.py"):
        if each.relative_to(PACKAGE).parts[0] not in {"store", "bench"}:
            assert not statement.search(each.read_text(encoding="utf-8")), each


def test_every_migration_has_its_own_number() -> None:
    numbers = [step.number for step in steps("sqlite")]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.promise("store.content-is-checked")
def test_every_statement_that_writes_content_writes_its_checksum() -> None:
    found = set()
    for name, _, sql in named_parts():
        for table, content in CONTENT.items():
            inserts = re.search(rf"\bINSERT (OR \w+ )?INTO {table}\b", sql)
            update = re.search(rf"\bUPDATE {table}\b(.*?)(WHERE|$)", sql, re.DOTALL)
            updates = update and any(re.search(rf"\b{column} =", update[1]) for column in content.columns)
            if inserts or updates:
                seal = sealed(sql)[1]
                advice = f"bind {', '.join(content.all)} as parameters, or set {COLUMN} = NULL"
                assert seal or f"{COLUMN} = NULL" in sql, f"{name} writes content without a checksum: {advice}"
                found.add(table)
    assert found == set(CONTENT)
