"""The mind of one workspace: the conversation with its notes, its prompt, its archive, and what speaks first.

Composes the rooms and hands them out. Holds no rule itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from mindloom.mind.archive import Archive, search_tool
from mindloom.mind.conversation import Conversation
from mindloom.mind.ground import Ground
from mindloom.mind.heartbeat import Heartbeats
from mindloom.mind.means import Means
from mindloom.mind.memorytool import memory_tool
from mindloom.mind.notes import Notes
from mindloom.mind.notetools import note_tools
from mindloom.mind.ports import AgentTool
from mindloom.mind.prompt import Prompt
from mindloom.mind.schedule import Schedule, schedule_tools
from mindloom.mind.selfaware import before_folding


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
