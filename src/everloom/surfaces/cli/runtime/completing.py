"""What a shell offers for a value: workspaces, subjects, settings, clients, toolsets.

Reads only, says nothing and never fails: what cannot be read is not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from everloom.errors import EverloomError
from everloom.surfaces.cli.runtime.invocation import Invocation

# Written here once more, so that listing the options loads no client; a test compares the two.
CLIENT_NAMES = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "opencode", "qwen", "copilot")
_MOST = 50

Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def _quiet(found: Callable[[Invocation, str], Iterable[str]]) -> Completion:
    """Make a completion that offers nothing where something does not work."""

    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        invocation = context.ensure_object(Invocation)
        invocation.read_only = True
        try:
            return [each for each in found(invocation, incomplete) if each.casefold().startswith(incomplete.casefold())]
        except (EverloomError, OSError):
            return []

    return complete


@_quiet
def complete_clients(_invocation: Invocation, _incomplete: str) -> Iterable[str]:
    """Offer the clients that can be configured."""
    return CLIENT_NAMES


@_quiet
def complete_tools(_invocation: Invocation, incomplete: str) -> Iterable[str]:
    """Offer toolsets and, once a name has begun that is none of them, single tools; after a comma, once more."""
    from everloom.surfaces.mcp.toolsets import TOOLSETS, chosen_verbs  # noqa: PLC0415  a help page needs no verbs

    before, comma, last = incomplete.rpartition(",")
    sets = [each for each in TOOLSETS if each.startswith(last)]
    names = sets if sets or not last else [each.name for each in chosen_verbs("all")]
    return [f"{before}{comma}{name}" for name in names]


@_quiet
def complete_workspaces(invocation: Invocation, _incomplete: str) -> Iterable[str]:
    """Offer the workspaces of the store."""
    invocation.workspace = None
    if invocation.is_remote:
        return []
    with invocation.open() as loom:
        return [each.name for each in loom.workspaces.list()]


@_quiet
def complete_subjects(invocation: Invocation, incomplete: str) -> Iterable[str]:
    """Offer the subjects of the workspace whose names begin so."""
    with invocation.enter() as workspace:
        found = workspace.semantic.list_subjects(name=incomplete or None, limit=_MOST)
        return [each.name for each in found.subjects]


@_quiet
def complete_settings(_invocation: Invocation, _incomplete: str) -> Iterable[str]:
    """Offer the names of all settings that belong in a file."""
    from everloom.settings import Settings  # noqa: PLC0415  loads pydantic

    known = Settings()
    return [
        f"{section}.{key}"
        for section in Settings.model_fields
        if section != "secrets"
        for key in type(getattr(known, section)).model_fields
    ]
