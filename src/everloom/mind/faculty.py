"""The mind of one workspace: the conversation with its notes, its prompt, its archive, and what speaks first.

Composes the rooms and hands them out. Holds no rule itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.means import Means
from everloom.mind.ground import Ground
from everloom.mind.initiative.heartbeat import Heartbeats
from everloom.mind.initiative.schedule import Schedule, schedule_tools
from everloom.mind.initiative.self_awareness import before_folding
from everloom.mind.learning.archive import Archive, search_tool
from everloom.mind.notes.memory_tool import memory_tool
from everloom.mind.notes.notes import Notes
from everloom.mind.notes.tools import note_tools
from everloom.mind.ports import AgentTool
from everloom.mind.prompt import Prompt


class Mind:
    """One workspace's mind; keep it, for the system prompt is cached in it."""

    def __init__(self, ground: Ground, holder: str) -> None:
        self.ground = ground
        self._holder = holder

    @cached_property
    def notes(self) -> Notes:
        """Reach the files that the person and the agent share."""
        return Notes(self.ground)

    @cached_property
    def prompt(self) -> Prompt:
        """Reach the system prompt."""
        return Prompt(self.notes, self.ground)

    @cached_property
    def archive(self) -> Archive:
        """Reach what was said long ago, and what was learnt from it."""
        return Archive(self.ground)

    @cached_property
    def schedule(self) -> Schedule:
        """Reach the messages that will be sent at a time."""
        return Schedule(self.ground)

    @cached_property
    def heartbeats(self) -> Heartbeats:
        """Reach the times the agent wondered whether to speak first."""
        return Heartbeats(self.ground)

    @cached_property
    def conversation(self) -> Conversation:
        """Reach the conversation."""
        means = Means(
            system=self.prompt.text,
            instructions=self.prompt.compaction_instructions,
            tools=self.tools,
            before_folding=before_folding(self.ground, self.notes),
        )
        return Conversation(self.ground, self._holder, means)

    def tools(self) -> Sequence[AgentTool]:
        """List the tools of the agent, always in the same order."""
        return (
            search_tool(self.ground),
            *note_tools(self.notes),
            *schedule_tools(self.ground),
            *((memory_tool(self.notes),) if self.ground.policy.memory_tool else ()),
            *self.ground.tools(),
        )
