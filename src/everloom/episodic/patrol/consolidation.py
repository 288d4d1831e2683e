"""Step ❹: a model says which scenes are one and which dying ones may go; without a model the dying fade by themselves.

What the model answers is untrusted: it is checked against the scenes it was shown, and again against the scenes as they
are when the step is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from pydantic import BaseModel, Field

from everloom.episodic.patrol.steps import NO_MODEL, Change, PatrolRun, StepOutcome, clean_text, passage_of
from everloom.episodic.scenes.clusters import refresh
from everloom.episodic.scenes.node import Node, absorb, nodes_of, scene_columns, scene_document
from everloom.episodic.scenes.scene import GRACE, LONGEST, SceneContent, lifespan, merge_contents, strengthen
from everloom.errors import MalformedReply, ProviderError
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Prepared
from everloom.models.ask import Question
from everloom.store import Row

# What a model still reads with care; the contract shows a cluster whole, and clusters are split long before.
_MOST_SHOWN = 60


class ProposedMerge(BaseModel):
    """Scenes that are one: the survivor takes in the others."""

    survivor_id: int
    absorbed_ids: list[int]
    merged_action: str = Field(description="one sentence that says what all of them say")
    merged_feeling: str = ""


class ConsolidationAnswer(BaseModel):
    """What to merge in a cluster, and which dying scenes to let go."""

    merges: list[ProposedMerge] = []
    make_dead: list[int] = []


@dataclass(frozen=True, slots=True)
class _Merge:
    """Scenes that become one."""

    survivor: Node
    absorbed: tuple[Node, ...]
    content: SceneContent

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Name all of them."""
        return (self.survivor, *self.absorbed)


@dataclass(slots=True)
class _Plan:
    """What to do in all clusters, what was ignored, and which scenes the model was shown."""

    merges: list[_Merge] = field(default_factory=list)
    dead: list[Node] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)

    def add(self, nodes: Mapping[int, Node], answer: ConsolidationAnswer) -> None:
        """Decide what of a model's answer on one cluster to believe. Touches nothing else."""
        self.shown += nodes
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
        """Check one merge; ids that cannot be meant are ignored and reported."""
        survivor = proposed.survivor_id
        if reason := _why_not(survivor, nodes, spent):
            self.remarks.append(f"ignored a merge into {survivor}: {reason}")
            return None
        absorbed = []
        for item in dict.fromkeys(proposed.absorbed_ids):
            reason = "it is the survivor itself" if item == survivor else _why_not(item, nodes, spent)
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


def _why_not(item: int, nodes: Mapping[int, Node], spent: set[int]) -> str | None:
    """Say why an id cannot be used; None when it can."""
    node = nodes.get(item)
    if node is None:
        return "no scene of this cluster has that id"
    if node.pinned:
        return "it is pinned"
    if node.status == "dead":
        return "it is dead"
    return "it is in another merge" if item in spent else None


def consolidate(run: PatrolRun) -> Change:
    """❹ Merge what is one, and let go what is spent."""
    if run.thinker is None:
        # The dying fade that nobody recalled, and nothing is fresh any more.
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
    """Show the model every cluster in which something is fresh or dying."""
    plan = _Plan()
    with run.op.read() as unit:
        restless = [row["id"] for row in unit.all("episodic.restless")]
        living: dict[int, list[Row]] = {cluster: [] for cluster in restless}
        for row in unit.all("episodic.living_in", ids=restless):
            living[row["cluster_id"]].append(row)
        groups = {cluster: nodes_of(unit, _worth_showing(rows)) for cluster, rows in living.items()}
    for cluster, nodes in groups.items():
        if len(nodes) < 2:
            plan.shown += nodes
            continue
        try:
            plan.add(nodes, run.ask(_question(nodes.values()), ConsolidationAnswer))
        # One bad answer spoils one cluster; a model that cannot be asked spoils all the rest, and their scenes stay
        # fresh, so that the next patrol shows them.
        except MalformedReply as error:
            plan.remarks.append(f"cluster {cluster}: {error.message}")
        except ProviderError as error:
            plan.remarks.append(f"the model could not be asked further: {error.message}")
            break
    return plan


def _worth_showing(living: Iterable[Row]) -> list[int]:
    """Choose the scenes of a cluster that the model sees: fresh and dying first, then the important ones."""
    ranked = sorted(living, key=lambda row: (not row["fresh"], row["status"] != "dying", -row["importance"], row["id"]))
    return [row["id"] for row in ranked[:_MOST_SHOWN]]


def _question(nodes: Iterable[Node]) -> Question:
    """Ask which scenes of a cluster are one, and which dying ones may go; feelings are shown, too."""
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
    """Write what still holds: a scene that was changed while the model thought is left alone."""
    involved = [node for merge in plan.merges for node in merge.nodes] + plan.dead
    now = nodes_of(tx.unit, [node.id for node in involved])
    remarks, done = list(plan.remarks), []
    for place, merge in enumerate(plan.merges):
        if any(_is_changed(node, now.get(node.id)) for node in merge.nodes):
            remarks.append(f"left the merge into {merge.survivor.id}: its scenes changed meanwhile")
        else:
            _unite(tx, merge, tx.op.index.complete(ready, {place: ready.documents[place]}))
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
    """Say whether a scene is not what it was when the plan was made; being recalled meanwhile changes nothing here."""
    decided_by = attrgetter("content", "status", "pinned", "cluster_id")
    return now is None or decided_by(then) != decided_by(now)


def _unite(tx: Transaction, merge: _Merge, ready: Prepared) -> None:
    """Let a survivor take in the others: text, words, vector, importance, sources."""
    survivor, unit = merge.survivor.id, tx.unit
    unit.run("episodic.scene_rewrite", id=survivor, **scene_columns(merge.content))
    # Revised without vectors first, which forgets the old ones; then the new ones are entered as all that it needs.
    tx.op.index.revise(unit, survivor, Prepared(ready.documents, ready.words, None), tx.at)
    if ready.made is not None:
        tx.op.embedding.make_whole(unit, [survivor], ready.made, tx.at)
    importance = strengthen(merge.survivor.importance)
    unit.run("episodic.survive", id=survivor, importance=importance, lifespan=lifespan(importance))
    absorb(tx, survivor, (node.id for node in merge.absorbed))
