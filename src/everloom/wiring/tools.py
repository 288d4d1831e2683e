"""The verbs of the other faculties as tools of the agent in conversation: a handful each, switched on by name.

Each calls the operation of the same name; what comes back is data, written as JSON.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from everloom.errors import Rejected
from everloom.kernel.verbs import Verb, verbs_of
from everloom.mind.ports import AgentTool
from everloom.models.talk import ToolSpec
from everloom.wiring.arguments import Arguments

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.graph import Graph
    from everloom.semantic import Semantic

# A tool's answer is read by a model that pays for each word.
MOST_CHARACTERS = 12_000


class Place(Protocol):
    """Where the other faculties of a workspace are reached."""

    @property
    def semantic(self) -> Semantic:
        """Reach what is known."""
        ...

    @property
    def episodic(self) -> Episodic:
        """Reach what happened."""
        ...

    @property
    def graph(self) -> Graph:
        """Reach the memory graph."""
        ...


class Given(BaseModel):
    """What a model gives a tool; anything unknown in it is an error."""

    model_config = ConfigDict(extra="forbid")


class Observation(Given):
    """One thing to keep, and whom or what it is about."""

    subject_names: list[str] = Field(min_length=1, description="whom or what it is about")
    content: str


class Topic(Given):
    """What to look for."""

    query: str = Field(description="a question, a name or a topic")


class Cluster(Given):
    """Which cluster of scenes to open; without an id, all are listed."""

    cluster_id: int | None = None
    query: str | None = None


class Jotting(Given):
    """What happened, and what to do."""

    scenes: list[str] = Field(default_factory=list, description="what happened, one scene a sentence or two")
    notes: list[str] = Field(default_factory=list, description="what to do or to bear in mind")


class Memory(Given):
    """A memory for the graph."""

    type: str = Field(description="solution, problem, fix, decision, procedure, general, …")
    title: str
    content: str
    tags: list[str] = Field(default_factory=list)


GivenT = TypeVar("GivenT", bound=Given)


def faculty_tools(names: Iterable[str], place: Place) -> list[AgentTool]:
    """Make the tools of the faculties that are named."""
    wanted = list(names)
    if strange := [name for name in wanted if name not in FACULTIES]:
        hint = f"mind.faculties takes {', '.join(FACULTIES)}"
        raise Rejected(f"there is no faculty {strange[0]!r}", hint=hint)
    return [tool for name in wanted for tool in FACULTIES[name](place)]


def verb_tools(faculty: object, zone: ZoneInfo) -> list[AgentTool]:
    """Make the tools of a faculty from those of its verbs that the agent may use."""
    return [_tool_of(verb, faculty, zone) for verb in verbs_of(type(faculty)) if verb.is_agent_tool]


def _tool_of(verb: Verb, faculty: object, zone: ZoneInfo) -> AgentTool:
    arguments = Arguments(verb.tool, verb.parameters)

    def use(given: Mapping[str, Any]) -> str:
        return written(verb.method(faculty, **arguments.read(given, zone)))

    return AgentTool(ToolSpec(verb.tool, verb.description, {**arguments.schema, "additionalProperties": False}), use)


def semantic_tools(place: Place) -> list[AgentTool]:
    """Offer what is known."""
    return [
        made(
            "remember",
            "Keep one observation about named people, places or things.",
            Observation,
            lambda given: place.semantic.remember(given.subject_names, given.content),
        ),
        made(
            "recall",
            "What is known of a subject, or what answers a question.",
            Topic,
            lambda given: place.semantic.recall(given.query),
        ),
        made(
            "bring_to_mind",
            "What a topic touches, strongest first.",
            Topic,
            # A conversation that goes on for ever would soon have been shown everything once.
            lambda given: place.semantic.bring_to_mind(given.query, include_seen=True).results,
        ),
    ]


def being_tools(place: Place) -> list[AgentTool]:
    """Offer what happened."""
    return [
        made(
            "recall_memory",
            "Clusters of remembered scenes; with an id, the scenes of one.",
            Cluster,
            lambda given: place.episodic.recall_memory(given.cluster_id, query=given.query),
        ),
        made(
            "update_notes",
            "Write down scenes that happened, and things to do.",
            Jotting,
            lambda given: place.episodic.update_notes(scenes=given.scenes, notes=given.notes),
        ),
    ]


def graph_tools(place: Place) -> list[AgentTool]:
    """Offer the memory graph."""
    return [
        made("memory_store", "Keep a typed memory as a markdown file.", Memory, lambda given: stored(place, given)),
        made(
            "memory_recall",
            "Memories of the graph that a question touches, strongest first.",
            Topic,
            lambda given: place.graph.recall(given.query),
        ),
    ]


def stored(place: Place, given: Memory) -> object:
    """Keep a memory in the graph."""
    return place.graph.store(type=cast("Any", given.type), title=given.title, content=given.content, tags=given.tags)


FACULTIES: dict[str, Callable[[Place], list[AgentTool]]] = {
    "semantic": semantic_tools,
    "being": being_tools,
    "graph": graph_tools,
}


def made(name: str, description: str, shape: type[GivenT], act: Callable[[GivenT], object]) -> AgentTool:
    """Make a tool that checks what it is given."""

    def use(given: Mapping[str, Any]) -> str:
        try:
            known = shape.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"])
            raise Rejected(f"{name}: {place}: {first['msg']}", hint="change the arguments") from None
        return written(act(known))

    return AgentTool(ToolSpec(name, description, shape.model_json_schema()), use)


def written(value: object) -> str:
    """Write an answer in its own words, if it has any, else as JSON; cut where it becomes long."""
    if type(value).__str__ is not object.__str__ and dataclasses.is_dataclass(value):
        return str(value)
    text = json.dumps(value, default=plain, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}… (cut; ask for less)"


def plain(value: object) -> object:
    """Turn a value of a faculty into one that is nearer to what JSON can hold."""
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Mapping():
            return dict(value)
        case set() | frozenset():
            return sorted(value, key=str)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
