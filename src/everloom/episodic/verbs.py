"""The verbs of episodic memory, declared once: every surface reads from this class what it offers.

Holds no rule itself; each method imports the module that carries it out when it is called, so that a help page
loads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from everloom.episodic.curation import CorrectionVerbs
from everloom.kernel.verbs import (
    ADDS,
    ADDS_ONCE,
    ANSWER_TOKENS,
    DESTROYS,
    PAGE_TOKENS,
    READS,
    AnyMethod,
    Before,
    BeyondItem,
    Effect,
    FitsAlways,
    FitsOnly,
    Key,
    MaxTokens,
    MaxTokensOfRecord,
    Says,
    helps,
    verb,
)

if TYPE_CHECKING:
    from everloom.episodic.being import Being
    from everloom.episodic.calibration import Calibrated, CalibrationText
    from everloom.episodic.entries import MemoryEntry, MemoryUpdated, NotesUpdated
    from everloom.episodic.patrol import Patrolled, PatrolReport
    from everloom.episodic.patrol.starting import PatrolJobs
    from everloom.episodic.recall import ClusterMemory, ContextBlocks, FoundScenes, Recall, SaidMessage
    from everloom.episodic.scenes import ClusterMap, EmotionHistory, MergedNodes, Node, SceneList
    from everloom.episodic.story import Story
    from everloom.kernel.work.tasks import Work

Target = Literal[
    "preferences",
    "knowledge",
    "relationship",
    "partner_tools",
    "partner_map",
    "diary",
    "notes",
    "party_message",
    "partner_rules",
    "souls",
]
Action = Literal["get", "append", "update", "delete"]

_Version = Annotated[str | None, Says("the version you read; fails if there is a newer one", metavar="VERSION")]
_Limit = Annotated[int, helps("maximum number of results")]
_NodeId = Annotated[int, helps("the id of a scene", metavar="ID")]
_Feeling = Annotated[
    Mapping[str, float] | Sequence[float] | str | None,
    Says("recall by feeling: six numbers from -1 to 1, or some by name: valence=0.8,trust=0.5", metavar="NUMBERS"),
]
_Scenes = Annotated[
    Sequence[Mapping[str, Any] | str],
    Says(
        "each {action*, actors, when [YYYY-MM-DD], feeling, themes, setting, dialogue, sensory, importance 0-1, "
        "emotion {valence, arousal, dominance, safety, novelty, trust: -1..1}}",
        flag="--scene",
        metavar="JSON",
    ),
]


def _tool(title: str, effect: Effect, models: str, *, agent: bool = False) -> Callable[[AnyMethod], AnyMethod]:
    """Declare a verb that is also a tool for models; `models` is the text that they read."""
    return verb(title, effect, tools=("episodic",), models=models, agent=agent)


class Episodic(CorrectionVerbs):
    """What happened to a Being, and how it felt."""

    def __init__(self, being: Being, work: Work, jobs: PatrolJobs) -> None:
        self.op = being.op
        self._being = being
        self._work = work
        self._jobs = jobs

    @_tool(
        "Get context",
        READS,
        """Call at the start of a conversation: system_prompt (who you are), snapshot (notes, knowledge, diary,
        scenes to correct), recent_nodes; metadata says what to cache.""",
    )
    def get_context(self, *, max_tokens: MaxTokens = PAGE_TOKENS) -> ContextBlocks:
        """Show the blocks of context that a conversation starts with."""
        from everloom.episodic.recall import get_context

        return get_context(self._being, max_tokens)

    @_tool(
        "Recall",
        READS,
        """Recall fragments of scenes that a message or a feeling brings back; blurred on purpose. Call it when the
        past may matter.""",
    )
    def recall(
        self,
        user_message: Annotated[str, helps("the message to recall by", metavar="MESSAGE")] = "",
        *,
        feeling: _Feeling = None,
        fits_only: FitsAlways = False,  # noqa: ARG002  what does not fit a message is never recalled
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> Recall:
        """Recall fragments of scenes that a message or a feeling brings up."""
        from everloom.episodic.recall import recall

        return recall(self._being, user_message, feeling, max_tokens)

    @_tool(
        "Recall a cluster",
        READS,
        "Without cluster_id: all clusters. With it: that cluster's scenes; recalling strengthens them.",
        agent=True,
    )
    def recall_memory(
        self,
        cluster_id: Annotated[int | None, helps("show the scenes of this cluster", metavar="CLUSTER")] = None,
        *,
        limit: _Limit = 5,
        query: Annotated[str | None, helps("only scenes with these words; among clusters, the nearest first")] = None,
        no_nodes: Annotated[bool, helps("leave the scenes out")] = False,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> ClusterMemory:
        """List the clusters, or recall one cluster's scenes."""
        from everloom.episodic.recall import ClusterRequest, recall_memory

        asked = ClusterRequest(cluster_id, limit, query, fits_only)
        return recall_memory(self._being, asked, no_nodes=no_nodes, max_tokens=max_tokens)

    @_tool(
        "Search memory",
        READS,
        """Search scenes by meaning and by literal words, forgotten ones included; "and" requires every
        word.""",
    )
    def search_memory(
        self,
        query: Annotated[str, helps("what to search for", metavar="QUERY")],
        *,
        mode: Annotated[Literal["or", "and"], helps("match any word, or all of them")] = "or",
        limit: _Limit = 10,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> FoundScenes:
        """Search scenes, including forgotten ones."""
        from everloom.episodic.recall import search_memory

        return search_memory(self._being, query, mode, limit, max_tokens, fits_only=fits_only)

    @_tool("Search history", READS, "Find what was said in conversations, by words and by date (YYYY-MM-DD).")
    def search_history(
        self,
        query: Annotated[str | None, helps("what was said", metavar="QUERY")] = None,
        *,
        date_from: Annotated[datetime | None, helps("only what was said on or after this date", flag="--from")] = None,
        date_to: Annotated[
            datetime | None, helps("only what was said on or before this date", flag="--until", ends_day=True)
        ] = None,
        beyond: BeyondItem = None,
        limit: _Limit = 10,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> tuple[SaidMessage, ...]:
        """Search what was said in conversations; without words, list it, newest first."""
        from everloom.episodic.recall import search_history
        from everloom.kernel.answer.budget import fitted

        period = date_from, date_to
        return fitted(search_history(self._being, query, period, limit, beyond, fits_only=fits_only), max_tokens)

    @_tool(
        "Update notes",
        ADDS,
        """Record what happened (scenes) and what to do (notes). Reports which scenes could not be read and why:
        correct those with update_memory. A patrol turns scenes into memories; ten waiting scenes start one in the
        background.""",
        agent=True,
    )
    def update_notes(  # noqa: PLR0913  the contract's parameters
        self,
        *,
        action: Annotated[Literal["append", "update"], helps("add, or replace waiting scenes")] = "append",
        scenes: _Scenes = (),
        notes: Annotated[
            Sequence[str | Mapping[str, Any]], Says("text, or {content, type: note or someday}", flag="--note")
        ] = (),
        scene_ids: Annotated[
            Sequence[int], Says("with update: waiting scenes to replace", flag="--replace", metavar="ID")
        ] = (),
        note_type_updates: Annotated[
            Sequence[Mapping[str, Any]], Says("{id, type}", flag="--retype", metavar="JSON")
        ] = (),
        read_ids: Annotated[Sequence[int], Says("notes that were read", flag="--read", metavar="ID")] = (),
        unread_ids: Annotated[Sequence[int], Says("notes to show first again", flag="--unread", metavar="ID")] = (),
        origin: Annotated[str | None, Says("tool, import, web:SITE")] = None,
        idempotency_key: Key = None,
    ) -> NotesUpdated:
        """Record scenes and notes; ten waiting scenes start a patrol in the background."""
        from everloom.episodic.entries import NotesRequest, update_notes
        from everloom.episodic.patrol import patrol_if_due

        being = self._being.told_by(origin)
        request = NotesRequest(action, scenes, notes, scene_ids, note_type_updates, read_ids, unread_ids)
        return patrol_if_due(self._being, self._work, self._jobs, update_notes(being, request, idempotency_key))

    @_tool(
        "Update memory",
        DESTROYS,
        """Read or change entries by key; returns before and after. Change rules and souls
        (personality, voice, values, backstory, inner_world, examples) only when the user asks for it.""",
    )
    def update_memory(  # noqa: PLR0913  the contract's parameters
        self,
        target: Target,
        action: Action,
        content: Annotated[str | None, Says("partner_rules: [category] title: body", metavar="CONTENT")] = None,
        *,
        key: Annotated[str | None, Says("required to update and delete")] = None,
        location: Annotated[str | None, helps("where it is")] = None,
        to: Annotated[str | None, Says("party_message: the Being it goes to")] = None,
        max_tokens: MaxTokens = ANSWER_TOKENS,
        expected_version: _Version = None,
        idempotency_key: Key = None,
    ) -> MemoryUpdated:
        """Read or change preferences, knowledge, diary, notes, rules, the soul and so on."""
        from everloom.episodic.entries import MemoryRequest, update_memory
        from everloom.kernel.answer.budget import fitted

        request = MemoryRequest(
            target=target,
            action=action,
            content=content,
            key=key,
            location=location,
            to=to,
            expected_version=expected_version,
            idempotency_key=idempotency_key,
        )
        # One entry that was asked for by its key is as much as there is.
        way = None if action == "get" and key is not None else f"update_memory {target} get {{key}}"
        return fitted(update_memory(self._being, request), max_tokens, way=way)

    @_tool("Update relation", ADDS_ONCE, "Record who somebody or something is to you, or forget it.")
    def update_relation(
        self,
        entity_name: Annotated[str, helps("who or what it is", metavar="NAME")],
        relation_type: Annotated[str, Says("person, device, ai, organization, …", flag="--type")] = "person",
        content: Annotated[str | None, helps("what to record", metavar="CONTENT")] = None,
        *,
        action: Annotated[Literal["upsert", "delete"], helps("forget it", flag="--delete")] = "upsert",
        expected_version: _Version = None,
        idempotency_key: Key = None,
    ) -> MemoryEntry:
        """Record who somebody or something is, or forget it."""
        from everloom.episodic.entries import RelationRequest, update_relation

        request = RelationRequest(entity_name, relation_type, content, action, expected_version)
        return update_relation(self._being, request, idempotency_key)

    @_tool(
        "Merge nodes", ADDS, "Merge several scenes that describe the same thing; the originals are kept as its sources."
    )
    def merge_nodes(
        self,
        node_ids: Annotated[Sequence[int], helps("the scenes to merge", metavar="ID")],
        summary: Annotated[str, helps("what the merged scene says", flag="--summary")],
        feeling: Annotated[str | None, helps("how it felt", flag="--feeling")] = None,
        *,
        idempotency_key: Key = None,
    ) -> MergedNodes:
        """Merge several scenes into one; the originals are kept as its sources."""
        from everloom.episodic.scenes import merge_nodes

        return merge_nodes(self._being, node_ids, summary, feeling, idempotency_key)

    @_tool("Pin a node", ADDS_ONCE, "Keep a scene for ever: it neither ages nor fades.")
    def pin_node(self, node_id: _NodeId, *, idempotency_key: Key = None) -> Node:
        """Pin a scene, so that it does not age or fade."""
        from everloom.episodic.scenes import pin_node

        return pin_node(self._being, node_id, pinned=True, key=idempotency_key)

    @_tool("Unpin a node", ADDS_ONCE, "Let a pinned scene age again.")
    def unpin_node(self, node_id: _NodeId, *, idempotency_key: Key = None) -> Node:
        """Unpin a scene, so that it ages again."""
        from everloom.episodic.scenes import pin_node

        return pin_node(self._being, node_id, pinned=False, key=idempotency_key)

    @_tool(
        "Trigger a patrol",
        ADDS,
        """Take in the waiting scenes now, age all others, merge, split and reflect; or continue an interrupted
        patrol. Answers at once with a job, for job_status; with wait, when it is done.""",
    )
    def trigger_patrol(
        self, *, wait: Annotated[bool, helps("answer when it is done")] = False, idempotency_key: Key = None
    ) -> Patrolled:
        """Start a patrol in the background, or continue one that was interrupted."""
        from everloom.episodic.patrol import Patrolled, start_patrol
        from everloom.kernel.once import Once

        def start() -> Patrolled:
            return start_patrol(self._being, self._work, self._jobs)

        return Once("trigger_patrol", idempotency_key).do(self.op, Patrolled, self.run_patrol if wait else start)

    @_tool("Patrol report", READS, "The latest patrols, step by step: counts, milliseconds, what was skipped and why.")
    def patrol_report(
        self,
        *,
        before: Before = None,
        limit: Annotated[int, helps("how many patrols")] = 1,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> tuple[PatrolReport, ...]:
        """Show the latest patrols step by step."""
        from everloom.episodic.patrol import patrol_report
        from everloom.kernel.answer.budget import fitted

        return fitted(patrol_report(self._being, limit, before), max_tokens)

    @verb("Show a node", READS)
    def show(self, node_id: _NodeId, *, max_tokens: MaxTokensOfRecord = None) -> Node:
        """Show a scene with all its fields; this does not count as recalling it."""
        from everloom.episodic.scenes import show_node
        from everloom.kernel.answer.budget import fitted

        return fitted(show_node(self._being, node_id), max_tokens, way=None)

    @verb("List scenes", READS)
    def list_scenes(
        self,
        cluster_id: Annotated[int | None, helps("only the scenes of this cluster", metavar="CLUSTER")] = None,
        *,
        before: Annotated[int | None, helps("only scenes older than this one", metavar="ID")] = None,
        limit: _Limit = 20,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> SceneList:
        """List scenes, newest first; this does not count as recalling them."""
        from everloom.episodic.scenes import list_scenes
        from everloom.kernel.answer.budget import fitted

        return fitted(list_scenes(self._being, cluster_id, before, limit), max_tokens)

    @verb("Map clusters", READS)
    def map_clusters(self, *, limit: _Limit = 40, max_tokens: MaxTokens = PAGE_TOKENS) -> ClusterMap:
        """Place the clusters that were active last on a map, where near ones are alike."""
        from everloom.episodic.scenes import map_clusters
        from everloom.kernel.answer.budget import fitted

        return fitted(map_clusters(self._being, limit), max_tokens)

    @verb("Emotions over time", READS)
    def emotions_over_time(self, *, max_tokens: MaxTokens = PAGE_TOKENS) -> EmotionHistory:
        """Show how scenes felt by day, week or month; of a long memory, by a sample of its scenes."""
        from everloom.episodic.scenes import emotions_over_time
        from everloom.kernel.answer.budget import fitted

        return fitted(emotions_over_time(self._being), max_tokens)

    @_tool(
        "Tell a story",
        READS,
        """Tell a month (YYYY-MM), a year or a range: what grew and faded, where feelings turned, who was there; each
        statement names its scenes.""",
    )
    def story(
        self,
        *,
        month: Annotated[str | None, helps("the month to tell, as 2026-05", metavar="MONTH")] = None,
        year: Annotated[int | None, helps("the year to tell", metavar="YEAR")] = None,
        date_from: Annotated[datetime | None, helps("the first day of the story", flag="--from")] = None,
        date_to: Annotated[datetime | None, helps("the last day of the story", flag="--to", ends_day=True)] = None,
        retell: Annotated[bool, helps("also let the language model tell it in its own words, marked as such")] = False,
        pictures: Annotated[bool, helps("with the numbers that pictures are drawn from")] = False,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> Story:
        """Tell a month, a year or any range of days in words; without one, the last twelve months."""
        from everloom.episodic.story import StoryRequest, tell_story
        from everloom.kernel.answer.budget import fitted

        begins, ends = (None if each is None else self.op.local(each).date() for each in (date_from, date_to))
        asked = StoryRequest(month, year, begins, ends)
        return fitted(tell_story(self._being, asked, pictures=pictures, retold=retell), max_tokens, way=None)

    @verb("Census", READS)
    def census(self) -> dict[str, int]:
        """Count scenes by state, clusters, and waiting notes."""
        from everloom.episodic.patrol import census

        return census(self._being)

    def run_patrol(self, progress: Callable[[int], None] = lambda _: None) -> Patrolled:
        """Run a patrol now and wait for it, and report each step to `progress`."""
        from everloom.episodic.patrol import run_patrol

        return run_patrol(self._being, self._work, self._jobs, progress)

    def find_patrol(self) -> Patrolled | None:
        """Find the patrol that is running, in whichever process."""
        from everloom.episodic.patrol import find_patrol

        return find_patrol(self._being, self._work, self._jobs)

    def resume_patrol(self) -> int | None:
        """Continue a patrol that was interrupted, in the background; returns the id of the job, if there is one."""
        from everloom.episodic.patrol import resume_patrol

        return resume_patrol(self._being, self._work, self._jobs)

    def receive(self, sender: str, text: str, key: str) -> None:
        """Store a message that another Being sent; the same key is stored once."""
        from everloom.episodic.entries import receive

        receive(self._being, sender, text, key)

    def calibrate(self, texts: Sequence[CalibrationText] | None = None, *, keep: bool = True) -> Calibrated:
        """Find this embedder's thresholds from real text: the given texts, or what the Being remembers."""
        from everloom.episodic.calibration import calibrate

        return calibrate(self._being, texts, keep=keep)
