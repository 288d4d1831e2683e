"""From settings to the values that models and the mind take: addresses, keys, rules, the place of the notes.

Opens nothing and asks nobody. What is heavy is loaded when somebody needs it.
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
# In the order in which they run.
MIND_TASKS = ("facts", "schedule", "heartbeat", "self_awareness")


def access(settings: Settings) -> ProviderAccess:
    """Write addresses and keys as the models take them."""
    openai, anthropic = settings.secrets.openai_api_key, settings.secrets.anthropic_api_key
    return policy_of(
        ProviderAccess,
        settings.provider,
        openai_key=openai and openai.get_secret_value(),
        anthropic_key=anthropic and anthropic.get_secret_value(),
    )


def policy_of(kind: type[_PolicyT], section: Section, **more: Any) -> _PolicyT:
    """Make the policy of a faculty: a section of settings has its fields by the same names, `more` the others."""
    names = type(section).model_fields.keys() & {field.name for field in fields(kind)}
    return kind(**{name: getattr(section, name) for name in names}, **more)


def notes_directory(settings: Settings, workspace: WorkspaceInfo) -> Path:
    """Say where a workspace's notes are; the usual workspace may have been given a place of its own."""
    if settings.mind.notes is not None and workspace.name == settings.workspace.name:
        return settings.mind.notes
    return data_directory() / "notes" / _folder_of(workspace)


def _folder_of(workspace: WorkspaceInfo) -> str:
    """Name a folder after a workspace; a name that every file system takes is kept, any other gets its number."""
    folded = "".join(char for char in unicodedata.normalize("NFKD", workspace.name) if not unicodedata.combining(char))
    plain = _UNSAFE.sub("-", folded.lower()).strip("-")[:60].rstrip("-")
    return plain if plain == workspace.name else f"{plain}_{workspace.id}"


class Later:
    """A task that is loaded when somebody asks what is due: a search alone pays nothing for it."""

    def __init__(self, name: str, load: Callable[[], Sequence[Task]]) -> None:
        self.name = name
        self._load = load

    @cached_property
    def _task(self) -> Task:
        return next(task for task in self._load() if task.name == self.name)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what waits."""
        return self._task.due(workspace)

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Do what waits."""
        return self._task.run(workspace, lease, progress)
