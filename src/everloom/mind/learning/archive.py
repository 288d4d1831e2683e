"""Deep recall: past exchanges and facts, found by the one search and told in words that a model can read.

Looks only when asked. What goes into the archive is written by the turn and by `facts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from everloom.clock import from_micros
from everloom.errors import Rejected
from everloom.kernel.search import Hit, Scope
from everloom.kernel.texts import checked
from everloom.mind.ground import Ground
from everloom.mind.learning.chunks import KIND, Line, Speaker
from everloom.mind.ports import AgentTool, Fact
from everloom.models.talk import ToolSpec
from everloom.models.text import quoted
from everloom.store import Row, Unit

SearchType = Literal["conversations", "facts", "both"]

MOST_EXCHANGES = 5
MOST_FACTS = 10
LONGEST_QUERY = 2_000
LONGEST_EXCHANGE = 1_200
LONGEST_FACT = 500


class Archive:
    """What was once said and learnt in a workspace's conversation."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def search(self, query: str, search_type: SearchType = "both") -> str:
        """Tell what past conversations and facts say about something, with dates and ids."""
        wanted = checked(query, "the query", LONGEST_QUERY)
        if search_type not in get_args(SearchType):
            raise Rejected(f"there is no search type {search_type!r}", hint=f"say {', '.join(get_args(SearchType))}")
        parts = []
        if search_type != "facts":
            parts += [self._told(hit) for hit in self._exchanges(wanted)]
        if search_type != "conversations":
            parts += [self._stated(fact) for fact in self._ground.facts.nearest(wanted, MOST_FACTS)]
        if not parts:
            places = {"both": "past conversations and facts", "conversations": "past conversations", "facts": "facts"}
            return f"Nothing found in {places[search_type]}."
        return quoted("\n\n".join(parts), "found")

    def _exchanges(self, query: str) -> tuple[Hit, ...]:
        scope = Scope(kinds=frozenset({KIND}))
        found = self._ground.finder.search(self._ground.workspace.id, query, limit=MOST_EXCHANGES, within=scope)
        return found.hits

    def _told(self, hit: Hit) -> str:
        text = hit.text if len(hit.text) <= LONGEST_EXCHANGE else f"{hit.text[:LONGEST_EXCHANGE].rstrip()} …"
        return f"[exchange {hit.id}] {self._ground.local(hit.happened_at):%Y-%m-%d %H:%M, %A}\n{text}"

    def _stated(self, fact: Fact) -> str:
        text = fact.text if len(fact.text) <= LONGEST_FACT else f"{fact.text[:LONGEST_FACT].rstrip()} …"
        return f"[fact {fact.id}] learnt {self._ground.local(fact.learnt_at):%Y-%m-%d}: {text}"


def search_tool(ground: Ground) -> AgentTool:
    """Offer the archive to the agent."""
    archive = Archive(ground)

    def use(given: Mapping[str, Any]) -> str:
        return archive.search(given.get("query", ""), given.get("search_type") or "both")

    return AgentTool(
        ToolSpec(
            "search_memory",
            "Look into the archive: past conversations, and facts that were learnt from them. "
            "Answers with dates and ids.",
            {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "what to look for, in specific words"},
                    "search_type": {"type": "string", "enum": list(get_args(SearchType)), "default": "both"},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
        ),
        use,
    )


def lines_of(unit: Unit, exchange_ids: list[int]) -> dict[int, list[Line]]:
    """Read what was said in exchanges, from the log."""
    found: dict[int, list[Line]] = {each: [] for each in exchange_ids}
    for row in unit.all("archive.lines_of", ids=exchange_ids):
        found[row["exchange_id"]].append(line_of(row))
    return found


def line_of(row: Row) -> Line:
    """Read a message of the log as a line."""
    speaker: Speaker = "person" if row["direction"] == "in" else "agent"
    return Line(speaker, row["channel"], row["text"], from_micros(row["at"]))
