"""Pages do what they show, and lead where they say."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from everloom.surfaces.cli.runtime.root import root
from tests.docs import reference, reliability
from tests.docs.pages import ROOT, Block, Shown, anchors, blocks, commands, links, name, pages
from tests.manifest import read_promises

PAGES = [pytest.param(page, id=name(page)) for page in pages()]
STORIES = [
    pytest.param(page, id=name(page)) for page in pages() if {"python", "console"} & {b.language for b in blocks(page)}
]
SHELLS = {"sh", "bash", "shell", "console"}
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
EXTRAS = re.compile(r"(?:everloom|\.)\[([\w,]+)\]")
DIRECTIVE = re.compile(r"\bmake ([a-z][a-z-]*)")
NAMED = re.compile(r"`([a-z]+\.[a-z-]+)`")
LONGEST_AGENTS_PAGE = 150


@pytest.fixture
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, with nothing in it, where a page's story happens."""
    for variable in os.environ:
        if variable.startswith(("EVERLOOM_", "XDG_", "PG")) or variable.endswith("_API_KEY"):
            monkeypatch.delenv(variable)
    for variable, place in {"HOME": "", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share"}.items():
        monkeypatch.setenv(variable, str(tmp_path / place))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)


@pytest.mark.promise("docs.examples-run")
@pytest.mark.usefixtures("_home")
@pytest.mark.parametrize("page", STORIES)
def test_a_page_does_what_it_shows(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    before = ""
    for block in blocks(page):
        if block.language == "python" and block.runs:
            # Empty lines before it, so that a traceback names the page's own line.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
        elif block.language == "console":
            for shown in commands(block):
                before = follow(shown, block, page, before)


def follow(shown: Shown, block: Block, page: Path, before: str) -> str:
    """Run a command of ours and compare what it writes; one that is not to be run must at least be well formed.

    `$ID` is the number that the command before it wrote first.
    """
    place = f"{name(page)}:{shown.line}"
    number = re.match(r"\d+", before)
    program, *arguments = [number[0] if number and word == "$ID" else word for word in shown.words]
    if program != "everloom":
        return ""
    if not block.runs:
        parse(arguments, place)
        return ""
    ended = CliRunner().invoke(root, arguments, prog_name="everloom")
    written = ended.output.replace(os.environ["HOME"], "~").rstrip("\n")
    assert (ended.exit_code == 0) is ("Error:" not in written), f"{place}: {shown.command}\n{written}"
    expected = "\n".join(shown.below).strip("\n")
    same = not expected or matches(expected, written)
    assert same, f"{place} shows\n\n{expected}\n\nbut `{shown.command}` writes\n\n{written}\n"
    return written


def matches(expected: str, written: str) -> bool:
    """Compare what a page shows with what was written; runs of spaces are alike, as columns move with their content."""
    pattern = "".join(
        ".*" if part == "…\n" else re.escape(part).replace("…", "[^\n]*")
        for part in f"{expected}\n".splitlines(keepends=True)
    )
    tidy = "".join(f"{line.rstrip()}\n" for line in written.splitlines())
    return re.fullmatch(re.sub(r"(\\ ){2,}", r" +", pattern), tidy, re.DOTALL) is not None


def parse(arguments: list[str], place: str) -> None:
    """See that a command and its options exist."""
    command: click.Command = root
    context: click.Context | None = None
    try:
        while True:
            context = command.make_context(command.name, list(arguments), parent=context)
            rest = [*context._protected_args, *context.args]
            if not isinstance(command, click.Group) or not rest:
                return
            _, below, arguments = command.resolve_command(context, rest)
            assert below is not None
            command = below
    except click.exceptions.Exit:
        return
    except click.UsageError as error:
        pytest.fail(f"{place}: {error.format_message()}")


@pytest.mark.promise("docs.links")
@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name(page)} links to {link}, and there is no such heading"


@pytest.mark.parametrize("page", PAGES)
def test_what_is_to_be_made_or_installed_exists(page: Path) -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shell = "\n".join(block.text for block in blocks(page) if block.language in SHELLS)
    assert set(DIRECTIVE.findall(shell)) <= targets, name(page)
    wanted = {extra for group in EXTRAS.findall(shell) for extra in group.split(",")}
    assert wanted <= set(project["optional-dependencies"]), name(page)


def test_promises_that_the_readme_names_were_made() -> None:
    promised = read_promises()
    subjects = {identifier.partition(".")[0] for identifier in promised}
    named = NAMED.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [each for each in named if each.partition(".")[0] in subjects and each not in promised] == []


@pytest.mark.promise("docs.reference-current")
def test_the_reference_of_commands_is_up_to_date() -> None:
    same = reference.PAGE.read_text(encoding="utf-8") == reference.written()
    assert same, "the commands changed: `python -m tests.docs.reference` writes docs/reference/cli.md anew"


def test_the_tables_of_promises_are_up_to_date() -> None:
    same = reliability.PAGE.read_text(encoding="utf-8") == reliability.written()
    assert same, "promises changed: `python -m tests.docs.reliability` writes the tables of docs/reliability.md anew"


def test_the_page_for_agents_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= LONGEST_AGENTS_PAGE
    assert "@AGENTS.md" in (ROOT / "CLAUDE.md").read_text(encoding="utf-8").splitlines()
