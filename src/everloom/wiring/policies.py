"""Converts settings into the values that models and faculties take: addresses, keys, policies.

Opens nothing and asks no model. Loads nothing heavy before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from everloom.kernel.work.lease import Lease
from everloom.kernel.work.marks import next_look
from everloom.kernel.work.tasks import Progress, Report, Task
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.catalog import Catalog, read_price, read_window
from everloom.models.providers import ProviderAccess, Role
from everloom.models.thinking import ThinkingChoice
from everloom.sections import Section
from everloom.settings import AttachmentSettings, LlmSettings, Settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from everloom.mind.ports import AttachmentBounds

_PolicyT = TypeVar("_PolicyT", bound="DataclassInstance")

_MEGABYTE = 1_000_000
# In the order in which they run. Named here, because the tasks themselves are in modules that are loaded later.
MIND_TASKS = ("actions", "facts", "schedule", "heartbeat", "self_awareness", "pruning", "alerts")


def catalog_of(settings: Settings) -> Catalog:
    """Collect what is known about language models, built in and from the settings."""
    known = settings.models
    return Catalog(dict(map(read_price, known.prices)), dict(map(read_window, known.windows)))


def thinking_of(known: LlmSettings) -> dict[str, ThinkingChoice]:
    """Collect how much the model of each role is asked to think."""
    return {
        Role.LARGE: ThinkingChoice(known.thinking, known.effort),
        Role.SMALL: ThinkingChoice(known.small_thinking, known.small_effort),
    }


def access(settings: Settings) -> ProviderAccess:
    """Collect the addresses and keys of the providers, and what is known about their models."""
    openai, anthropic = settings.secrets.openai_api_key, settings.secrets.anthropic_api_key
    return policy_of(
        ProviderAccess,
        settings.provider,
        openai_key=openai and openai.get_secret_value(),
        anthropic_key=anthropic and anthropic.get_secret_value(),
        catalog=catalog_of(settings),
    )


def policy_of(kind: type[_PolicyT], section: Section, **more: Any) -> _PolicyT:
    """Make a faculty's policy from the settings of the same names; `more` gives the other fields."""
    names = type(section).model_fields.keys() & {field.name for field in fields(kind)}
    return kind(**{name: getattr(section, name) for name in names}, **more)


def basis_of(settings: Settings, schema: int) -> str:
    """Name what decides, besides the content of a workspace, what is due in it: the settings and the schema."""
    # Which store it is in and which workspace is chosen makes no difference; secrets do not belong into a store.
    known = settings.model_dump_json(exclude={"secrets", "store", "workspace"})
    return sha256(f"{schema} {known}".encode()).hexdigest()[:16]


def bounds_of(section: AttachmentSettings) -> AttachmentBounds:
    """Convert the bounds of attachments from megabytes to bytes."""
    from everloom.mind.ports import AttachmentBounds  # noqa: PLC0415  a search alone does not need it

    return AttachmentBounds(
        file_bytes=round(section.file_mb * _MEGABYTE),
        message_bytes=round(section.message_mb * _MEGABYTE),
        workspace_bytes=round(section.workspace_mb * _MEGABYTE),
        files=section.files,
    )


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

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return when there will be something to do, if the task knows."""
        return next_look(self._task, workspace)

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Run the task."""
        return self._task.run(workspace, lease, progress)
