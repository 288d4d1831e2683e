"""Converts settings into the values that models and faculties take: addresses, keys, policies, directories.

Opens nothing and asks no model. Loads nothing heavy before it is needed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from everloom.kernel.lease import Lease
from everloom.kernel.tasks import Progress, Report, Task
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.providers import ProviderAccess
from everloom.settings import Section, Settings, data_directory

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PolicyT = TypeVar("_PolicyT", bound="DataclassInstance")

_UNSAFE = re.compile(r"[^a-z0-9]+")
# In the order in which they run. Named here, because the tasks themselves are in modules that are loaded later.
MIND_TASKS = ("facts", "schedule", "heartbeat", "self_awareness")


def access(settings: Settings) -> ProviderAccess:
    """Collect the addresses and keys of the providers."""
    openai, anthropic = settings.secrets.openai_api_key, settings.secrets.anthropic_api_key
    return policy_of(
        ProviderAccess,
        settings.provider,
        openai_key=openai and openai.get_secret_value(),
        anthropic_key=anthropic and anthropic.get_secret_value(),
    )


def policy_of(kind: type[_PolicyT], section: Section, **more: Any) -> _PolicyT:
    """Make a faculty's policy from the settings of the same names; `more` gives the other fields."""
    names = type(section).model_fields.keys() & {field.name for field in fields(kind)}
    return kind(**{name: getattr(section, name) for name in names}, **more)


def notes_directory(settings: Settings, workspace: WorkspaceInfo) -> Path:
    """Return the directory of a workspace's notes; `mind.notes` sets that of the default workspace."""
    if settings.mind.notes is not None and workspace.name == settings.workspace.name:
        return settings.mind.notes
    return data_directory() / "notes" / _folder_of(workspace)


def _folder_of(workspace: WorkspaceInfo) -> str:
    """Name a folder after a workspace; a name that is not safe on every file system gets the workspace's id."""
    folded = "".join(char for char in unicodedata.normalize("NFKD", workspace.name) if not unicodedata.combining(char))
    plain = _UNSAFE.sub("-", folded.lower()).strip("-")[:60].rstrip("-")
    # Two names may become the same once they are simplified ("Émile" and "emile"); the id keeps their notes apart.
    return plain if plain == workspace.name else f"{plain}_{workspace.id}"


class Later:
    """A task that is loaded when it is first asked whether it is due, so that a search does not pay for it."""

    def __init__(self, name: str, load: Callable[[], Sequence[Task]]) -> None:
        self.name = name
        self._load = load

    @cached_property
    def _task(self) -> Task:
        return next(task for task in self._load() if task.name == self.name)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the items that are due."""
        return self._task.due(workspace)

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Run the task."""
        return self._task.run(workspace, lease, progress)
