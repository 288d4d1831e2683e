"""Step ❹: a model decides which scenes to merge and which dying ones to drop; without a model, dying scenes just fade.

The model's answer is untrusted: it is checked against the scenes it was shown, and again against the scenes as they are
when the step is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from pydantic import BaseModel, Field

from everloom.episodic.patrol.steps import NO_MODEL, Change, PatrolRun, StepOutcome, clean_text, passage_of
from everloom.episodic.scenes.clusters import refresh
from everloom.episodic.scenes.history import PATROL, record
from everloom.episodic.scenes.node import Node, absorb, nodes_of, scene_columns, scene_document
from everloom.episodic.scenes.scene import GRACE, LONGEST, SceneContent, lifespan, merge_contents, strengthen
from everloom.errors import MalformedReply, ProviderError
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Prepared
from everloom.models.ask import Question
from everloom.models.shape import ModelAnswer
from everloom.store import Row, Unit

# As many as a model still reads with care. The contract shows whole clusters, and they are split long before this size.
_MOST_SHOWN = 60


class ProposedMerge(BaseModel):
    """Scenes to merge: the survivor absorbs the others."""

    survivor_id: int
    absorbed_ids: list[int]
    merged_action: str = Field(description="one sentence that says what all of them say")
    merged_feeling: str = ""


class ConsolidationAnswer(ModelAnswer):
    """The scenes of a cluster to merge, and the dying ones to drop."""

    merges: list[ProposedMerge] = Field(default=[])
    make_dead: list[int] = Field(default=[])


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that was checked, with the merged content."""

    survivor: Node
    absorbed: tuple[Node, ...]
    content: SceneContent

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All scenes of the merge."""
        return (self.survivor, *self.absorbed)


@dataclass(slots=True)
class _Plan:
    """The changes in all clusters, remarks on what was ignored, and the scenes that the model was shown."""

    merges: list[_Merge] = field(default_factory=list)
    dead: list[Node] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    # Of which scenes, that somebody has split, each one is a part or holds one.
    wholes: Mapping[int, Collection[int]] = field(default_factory=dict)

    def add(self, nodes: Mapping[int, Node], answer: ConsolidationAnswer) -> None:
        """Add what can be accepted of a model's answer on one cluster. Touches nothing else."""
        self.shown += nodes
        # A scene takes part in one merge at most: a second one would be based on a text that the first replaces.
        spent: set[int] = set()
        for proposed in answer.merges:
            merge = self._check_merge(proposed, nodes, spent)
            if merge is not None:
                self.merges.append(merge)
                spent |= {node.id for node in merge.nodes}
        for item in dict.fromkeys(answer.make_dead):
            reason = _why_not(item, nodes, spent)
            if reason is None and nodes[item].status == "dying":
                self.dead.append(nodes[item])
            else:
                self.remarks.append(f"ignored make_dead {item}: {reason or 'it is not dying'}")

    def _check_merge(self, proposed: ProposedMerge, nodes: Mapping[int, Node], spent: set[int]) -> _Merge | None:
        """Check one merge; unusable ids are ignored and reported."""
        survivor = proposed.survivor_id
        if reason := _why_not(survivor, nodes, spent):
            self.remarks.append(f"ignored a merge into {survivor}: {reason}")
            return None
        absorbed: list[Node] = []
        for item in dict.fromkeys(proposed.absorbed_ids):
            reason = "it is the survivor itself" if item == survivor else _why_not(item, nodes, spent)
            reason = reason or self._why_apart([nodes[survivor], *absorbed], item)
            if reason:
                self.remarks.append(f"ignored {item} in a merge into {survivor}: {reason}")
            else:
                absorbed.append(nodes[item])
        if not absorbed:
            return None
        action = clean_text(proposed.merged_action, LONGEST["action"])
        feeling = clean_text(proposed.merged_feeling, LONGEST["feeling"])
        content = merge_contents(nodes[survivor].content, [node.content for node in absorbed], action, feeling)
        return _Merge(nodes[survivor], tuple(absorbed), content)

    def _why_apart(self, united: Iterable[Node], other: int) -> str | None:
        """Find the reason why a scene stays apart from others; None when there is none."""
        apart = set(self.wholes.get(other, ()))
        is_divided = any(not apart.isdisjoint(self.wholes.get(node.id, ())) for node in united)
        return "somebody has split them" if is_divided else None


def _why_not(item: int, nodes: Mapping[int, Node], spent: set[int]) -> str | None:
    """Find the reason why an id cannot be used; None when it can."""
    node = nodes.get(item)
    if node is None:
        return "no scene of this cluster has that id"
    if node.pinned:
        return "it is pinned"
    if node.status == "dead":
        return "it is dead"
    return "it is in another merge" if item in spent else None


def consolidate(run: PatrolRun) -> Change:
    """❹ Merge scenes that belong together, and let dying ones fade."""
    if run.thinker is None:
        # Nothing stays fresh: without a model, scenes would wait for ever for a merge that never comes, and one that is
        # configured later would be shown the whole past at once.
        return lambda tx: StepOutcome(
            counts={"faded": _fade(tx, run), "settled": tx.unit.run("episodic.unfresh_all")},
            skipped=f"{NO_MODEL}: nothing was merged",
        )
    plan, now = _ask(run), run.op.now
    ready = run.prepare([scene_document(merge.content, now) for merge in plan.merges])
    return lambda tx: _write(tx, run, plan, ready)


def _fade(tx: Transaction, run: PatrolRun) -> int:
    return tx.unit.run("episodic.fade", number=run.number - GRACE)


def _ask(run: PatrolRun) -> _Plan:
    """Show the model every cluster with a fresh or dying scene."""
    plan = _Plan()
    with run.op.read() as unit:
        restless = [row["id"] for row in unit.all("episodic.restless")]
        living: dict[int, list[Row]] = {cluster: [] for cluster in restless}
        for row in unit.all("episodic.living_in", ids=restless):
            living[row["cluster_id"]].append(row)
        groups = {cluster: nodes_of(unit, _worth_showing(rows)) for cluster, rows in living.items()}
        plan.wholes = _wholes_of(unit, [item for nodes in groups.values() for item in nodes])
    for cluster, nodes in groups.items():
        # A single scene has nothing to be merged with: it counts as shown, or it would stay fresh for ever.
        if len(nodes) < 2:
            plan.shown += nodes
            continue
        try:
            plan.add(nodes, run.ask(_question(nodes.values()), ConsolidationAnswer))
        # A malformed answer affects one cluster; a model that cannot be asked affects all remaining ones. Their scenes
        # stay fresh, so that the next patrol shows them.
        except MalformedReply as error:
            plan.remarks.append(f"cluster {cluster}: {error.message}")
        except ProviderError as error:
            plan.remarks.append(f"the model could not be asked further: {error.message}")
            break
    return plan


def _wholes_of(unit: Unit, ids: Sequence[int]) -> dict[int, set[int]]:
    """Find of which split scenes others are parts, also parts of parts, or hold one that was merged into them."""
    # By what is looked at: the scenes that it is held by, or a whole of theirs.
    holders = {item: {item} for item in ids}
    found: dict[int, set[int]] = {}
    looking = list(ids)
    while looking:
        more: dict[int, set[int]] = {}
        for row in unit.all("episodic.absorbed_by", ids=looking):
            more.setdefault(row["id"], set()).update(holders[row["absorbed_into"]])
        for row in unit.all("episodic.whole_of", ids=looking):
            more.setdefault(row["split_from"], set()).update(holders[row["id"]])
            for item in holders[row["id"]]:
                found.setdefault(item, set()).add(row["split_from"])
        holders, looking = more, list(more)
    return found


def _worth_showing(living: Iterable[Row]) -> list[int]:
    """Choose the scenes of a cluster to show the model: fresh and dying ones first, then the most important."""
    ranked = sorted(living, key=lambda row: (not row["fresh"], row["status"] != "dying", -row["importance"], row["id"]))
    return [row["id"] for row in ranked[:_MOST_SHOWN]]


def _question(nodes: Iterable[Node]) -> Question:
    """Make the question which scenes of a cluster to merge and which dying ones to drop."""
    return Question(
        purpose="episodic.consolidate",
        task=(
            "You curate a memory of scenes. Merge scenes whose actions are the same or complete each other; leave "
            "scenes on clearly different topics apart. A fresh scene survives an older one; a dying scene is absorbed "
            "by an active one. Put a dying scene that has no partner into make_dead. Use only ids from the list."
        ),
        passages=passage_of(
            {
                "id": node.id,
                "action": node.scene.action,
                "feeling": node.feeling,
                "when": [each.as_json() for each in node.scene.when],
                "status": node.status,
                "fresh": node.fresh,
                "importance": round(node.importance, 2),
            }
            for node in nodes
        ),
    )


def _write(tx: Transaction, run: PatrolRun, plan: _Plan, ready: Prepared) -> StepOutcome:
    """Write the changes, except those to scenes that were changed while the model was thinking."""
    involved = [node for merge in plan.merges for node in merge.nodes] + plan.dead
    now = nodes_of(tx.unit, [node.id for node in involved])
    remarks, done = list(plan.remarks), []
    for place, merge in enumerate(plan.merges):
        if any(_is_changed(node, now.get(node.id)) for node in merge.nodes):
            remarks.append(f"skipped the merge into {merge.survivor.id}: its scenes changed in the meantime")
        else:
            _unite(tx, merge, now, tx.op.index.complete(ready, {place: ready.documents[place]}))
            done.append(merge)
    going = [node.id for node in plan.dead if not _is_changed(node, now.get(node.id))]
    counts = {
        "merges": len(done),
        "absorbed": sum(len(merge.absorbed) for merge in done),
        "made_dead": tx.unit.run("episodic.make_dead", ids=going) if going else 0,
        "faded": _fade(tx, run),
        "settled": tx.unit.run("episodic.unfresh", ids=plan.shown),
    }
    refresh(tx.unit, tx.op.embedding, {node.cluster_id for merge in done for node in merge.nodes})
    return StepOutcome(counts=counts, remarks=tuple(remarks))


def _is_changed(then: Node, now: Node | None) -> bool:
    """Check whether a scene has changed since the plan was made; being recalled does not count."""
    # Exactly what the model was shown and what the checks looked at; counts and times change with every recall.
    decided_by = attrgetter("content", "status", "pinned", "cluster_id")
    return now is None or decided_by(then) != decided_by(now)


def _unite(tx: Transaction, merge: _Merge, now: Mapping[int, Node], ready: Prepared) -> None:
    """Merge scenes into the survivor: text, words, vector, importance, sources."""
    survivor, unit = merge.survivor.id, tx.unit
    unit.send("episodic.scene_rewrite", id=survivor, **scene_columns(merge.content))
    # First revised without vectors, which drops the old ones; then the new ones are added as complete.
    tx.op.index.revise(unit, survivor, Prepared(ready.documents, ready.words, None), tx.at)
    if ready.made is not None:
        tx.op.embedding.make_whole(unit, [survivor], ready.made, tx.at)
    importance = strengthen(merge.survivor.importance)
    before = {node.id: now[node.id] for node in merge.nodes}
    # As it is now: somebody may have confirmed a place, in the same cluster, while the model was thinking.
    placed = int(any(node.placed for node in before.values()))
    unit.send("episodic.survive", id=survivor, importance=importance, lifespan=lifespan(importance), placed=placed)
    absorb(tx, survivor, (node.id for node in merge.absorbed))
    record(tx, "merge", before, before, author=PATROL)
