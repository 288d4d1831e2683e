"""Writes docs/reference/cli.md from the commands themselves.

python -m tests.docs.reference
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from everloom.surfaces.cli.runtime.command import shared_options
from everloom.surfaces.cli.runtime.root import root
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
OPENING = """\
# Commands

This page is generated from the program with `python -m tests.docs.reference`, and a test checks that it is current.

Every command prints text for people or, with `--json`, one envelope:
`{"ok": …, "command": …, "result": …}`, and on failure `"error": {"code", "message", "hint", "retry"}`.
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 not found, 130 interrupted. Logs go to stderr.
"""


def written() -> str:
    """Write the whole page."""
    top = click.Context(root, info_name="everloom")
    shared = [record for option in shared_options() if (record := option.get_help_record(top))]
    parts = [
        OPENING,
        "## Options of every command\n",
        "They can be given before or after the command.\n",
        listed(shared),
    ]
    parts += section(root, top)
    return "\n".join(parts).rstrip() + "\n"


def section(command: click.Command, context: click.Context, depth: int = 1) -> Iterator[str]:
    """Write what a command is, then the commands below it."""
    if depth > 1:
        yield f"{'#' * depth} {context.command_path}\n"
        yield f"{description(command)}\n"
        yield f"```text\n{usage(command, context)}\n```\n"
        if records := own_records(command, context):
            yield listed(records)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from section(below, click.Context(below, info_name=name, parent=context), depth + 1)


def description(command: click.Command) -> str:
    """Read a command's own words, without the breaks of its source."""
    paragraphs = (command.help or "").strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def usage(command: click.Command, context: click.Context) -> str:
    """Write how a command is called."""
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def own_records(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Find the options that are this command's alone."""
    common = {option.name for option in shared_options()} | {"help"}
    return [
        record
        for parameter in command.params
        if parameter.name not in common and (record := parameter.get_help_record(context)) and record[1]
    ]


def listed(records: list[tuple[str, str]]) -> str:
    """Write options as a list."""
    return "\n".join(f"- `{names}`: {' '.join(meaning.split())}" for names, meaning in records) + "\n"


def write(page: Path = PAGE) -> None:
    """Bring the page up to date."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    write()
