"""The results of the verbs about actions and tools. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.mind.hands.actions import Action


@dataclass(frozen=True, slots=True)
class ActionList:
    """Actions, newest first."""

    actions: tuple[Action, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandTool:
    """A tool of another program: whether it is offered, and whether it asks first or runs at once.

    `state` is offered, changed (the person has not approved the change), or gone (the server no longer has it).
    """

    name: str
    server: str
    tool: str
    state: str
    asks: bool
    description: str
    told_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HandServer:
    """A server of tools in the settings, and how it was last reached."""

    name: str
    reached_by: str
    tools: tuple[HandTool, ...] = ()
    listed_at: datetime | None = None
    failed_at: datetime | None = None
    last_error: str | None = None


@dataclass(frozen=True, slots=True)
class HandList:
    """The servers of the settings, with the tools that they have told."""

    servers: tuple[HandServer, ...]
    note: str | None = None
