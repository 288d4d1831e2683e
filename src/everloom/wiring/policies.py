"""From settings to the values that models and the mind take: addresses, keys, rules, the place of the notes.

Opens nothing and asks nobody. What is heavy is loaded when somebody needs it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from everloom.kernel.lease import Lease
from everloom.kernel.tasks import Progress, Report, Task
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.providers import ProviderAccess
from everloom.settings import Settings, data_directory

if TYPE_CHECKING:
    from everloom.mind.ports import MindPolicy

UNSAFE = re.compile(r"[^a-z0-9]+")
# In the order in which they run.
MIND_TASKS = ("facts", "schedule", "heartbeat", "self_awareness")


def access(settings: Settings) -> ProviderAccess:
    """Write addresses and keys as the models take them."""
    secrets = settings.secrets
    return ProviderAccess(
        openai_key=None if secrets.openai_api_key is None else secrets.openai_api_key.get_secret_value(),
        openai_base=settings.provider.openai_base,
        ollama_base=settings.provider.ollama_base,
        anthropic_key=None if secrets.anthropic_api_key is None else secrets.anthropic_api_key.get_secret_value(),
        anthropic_base=settings.provider.anthropic_base,
    )


def mind_policy(settings: Settings) -> MindPolicy:
    """Write the rules of the conversation as the mind takes them."""
    from everloom.mind.ports import MindPolicy  # noqa: PLC0415  a search alone does not need it

    known = settings.mind
    return MindPolicy(
        gather_seconds=known.gather_seconds,
        compact_at=known.compact_at,
        tool_rounds=known.tool_rounds,
        reply_tokens=known.reply_tokens,
        prompt_minutes=known.prompt_minutes,
        heartbeat_hours=known.heartbeat_hours,
        quiet_from=known.quiet_from,
        quiet_until=known.quiet_until,
        self_awareness_hour=known.self_awareness_hour,
        memory_tool=known.memory_tool,
    )


def notes_directory(settings: Settings, workspace: WorkspaceInfo) -> Path:
    """Say where a workspace's notes are; the usual workspace may have been given a place of its own."""
    if settings.mind.notes is not None and workspace.name == settings.workspace.name:
        return settings.mind.notes
    return data_directory() / "notes" / folder_of(workspace)


def folder_of(workspace: WorkspaceInfo) -> str:
    """Name a folder after a workspace; a name that every file system takes is kept, any other gets its number."""
    folded = "".join(char for char in unicodedata.normalize("NFKD", workspace.name) if not unicodedata.combining(char))
    plain = UNSAFE.sub("-", folded.lower()).strip("-")[:60].rstrip("-")
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


def later(names: Sequence[str], load: Callable[[], Sequence[Task]]) -> list[Later]:
    """Make tasks that are loaded when they are first needed."""
    return [Later(name, load) for name in names]
