"""The OpenAI Agents SDK on a workspace: `EverloomSession` keeps the items of a session.

    await Runner.run(agent, "Hello.", session=EverloomSession("conversation-7", workspace))

Needs the extra `openai-agents`.
"""

from __future__ import annotations

from typing import Any

from everloom.kernel.records import Records
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
except ModuleNotFoundError as error:
    raise missing("openai-agents", error) from error


class EverloomSession(SessionABC):
    """One conversation of an agent: its items in their order."""

    def __init__(
        self, session_id: str, workspace: Workspace, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._workspace = opened(workspace)

    @property
    def _records(self) -> Records:
        return self._workspace.records("openai.sessions")

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Read the items, or the last so many of them, oldest first."""
        usual = self.session_settings.limit if self.session_settings is not None else None
        return await in_thread(lambda: self._items(usual if limit is None else limit))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items at the end."""
        if items:
            await in_thread(lambda: self._add(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away; None if there is none."""
        return await in_thread(self._pop)

    async def clear_session(self) -> None:
        """Delete all items."""
        await in_thread(self._clear)

    def _items(self, limit: int | None) -> list[TResponseInputItem]:
        with self._records.read() as reader:
            return [each.value for each in reader.last((self.session_id,), limit)]

    def _add(self, items: list[TResponseInputItem]) -> None:
        with self._records.write() as writer:
            writer.append((self.session_id,), [(None, item) for item in items])

    def _pop(self) -> Any:
        with self._records.write() as writer:
            for last in writer.last((self.session_id,), 1):
                writer.drop((self.session_id,), last.key)
                return last.value
        return None

    def _clear(self) -> None:
        with self._records.write() as writer:
            writer.drop_below((self.session_id,))
