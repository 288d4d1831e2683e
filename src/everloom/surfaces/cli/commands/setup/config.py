"""`everloom config`: show all settings and where they came from, and change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloom.errors import Rejected
from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.completing import complete_settings
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.settings import SettingOrigin


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def config(context: click.Context) -> Answer | None:
    """Show each setting and where it came from, or change one."""
    if context.invoked_subcommand is not None:
        return None
    invocation: Invocation = context.obj
    rows = [_without_secret(origin) for origin in invocation.settings()[1]]
    result = {"file": str(invocation.file), "exists": invocation.file.exists(), "settings": rows}
    table = Table([(row["name"], _short(row["value"]), row["source"]) for row in rows], ("setting", "value", "from"))
    return Answer(result, [table])


def _short(value: object) -> object:
    """Write a table of settings as the names in it; JSON has all of it."""
    return ", ".join(value) if isinstance(value, Mapping) else value


def _without_secret(origin: SettingOrigin) -> dict[str, object]:
    """Describe a setting without the password that a URL may contain."""
    from everloom.store import redact  # noqa: PLC0415  loads the store

    value = redact(origin.value) if isinstance(origin.value, str) else origin.value
    return {**asdict(origin), "value": value}


@config.command
def path(invocation: Invocation) -> Answer:
    """Print the path of the settings file."""
    file = invocation.file
    return Answer({"file": str(file), "exists": file.exists()}, [str(file)])


@config.command(name="set")
@click.argument("name", metavar="SECTION.KEY", shell_complete=complete_settings)
@click.argument("value")
def set_value(invocation: Invocation, name: str, value: str) -> Answer:
    """Set one value in the settings file, keeping its comments."""
    file = invocation.file
    checked = write_setting(file, name, value)
    return Answer({"file": str(file), "name": name, "value": checked}, [f"{name} = {value}  ({file})"])


def write_setting(file: Path, name: str, value: str) -> object:
    """Write one value into a settings file, which is made if there is none; returns it as it was understood."""
    from everloom.settings import from_file  # noqa: PLC0415
    from everloom.surfaces.cli.commands.setup.toml import edited, template, write_text  # noqa: PLC0415  loads pydantic

    checked = _understood(name, value)
    # For its errors only: a file that cannot be read, or that holds secrets, is not edited.
    from_file(file, must_exist=False)
    before = file.read_text(encoding="utf-8") if file.exists() else template({})
    write_text(file, edited(before, name, checked))
    return checked


def _understood(name: str, text: str) -> object:
    """Parse a value as its setting requires; secrets are refused."""
    from everloom.settings import validated  # noqa: PLC0415  loads pydantic
    from everloom.store import redact  # noqa: PLC0415

    section, _, key = name.partition(".")
    if section == "secrets" or (name == "store.url" and redact(text) != text):
        raise Rejected("secrets do not belong in a file", hint="set it in the environment instead")
    settings = validated({name: text}, {name: "the command line"})
    value: object = getattr(getattr(settings, section), key)
    if isinstance(value, Mapping):
        raise Rejected(f"{name} is a table", hint=f"write [{name}.NAME] into the file by hand: `everloom config path`")
    # A file of settings and an answer in JSON know text, and no paths.
    return str(value) if isinstance(value, Path) else value
