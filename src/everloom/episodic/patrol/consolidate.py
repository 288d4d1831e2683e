"""Step ❹: a model says which scenes are one and which dying ones may go; without a model the dying fade by themselves.

What the model answers is checked against the scenes it was shown, and again against the scenes as they are when the
step is carried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from everloom.episodic.patrol.documents import chosen, prepared
from everloom.episodic.patrol.judgement import Consolidation, to_consolidate
from everloom.episodic.patrol.judgement import Merge as Proposed
from everloom.episodic.patrol.steps import NO_MODEL, Bout, Carry, Done
from everloom.episodic.scenes.clusters import refresh
from everloom.episodic.scenes.lifespan import GRACE, lifespan, strengthened
from everloom.episodic.scenes.merging import merged
from everloom.episodic.scenes.node import Node, columns, document_of, nodes_of
from everloom.episodic.scenes.reading import LONGEST
from everloom.episodic.scenes.scene import Told
from everloom.errors import MalformedReply, ProviderError
from everloom.kernel.search.index import Prepared
from everloom.kernel.texts import UNSTORABLE
from everloom.store import Row, Unit

MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Union:
    """Scenes that become one."""

    survivor: Node
    absorbed: tuple[Node, ...]
    told: Told


@dataclass(slots=True)
class Plan:
    """What to do in all clusters, what was ignored, and which scenes the model has seen."""

    unions: list[Union] = field(default_factory=list)
    dead: list[Node] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)

    def add(self, other: Plan) -> None:
        """Take in the plan of one more cluster."""
        self.unions += other.unions
        self.dead += other.dead
        self.remarks += other.remarks
        self.seen += other.seen


def plan_cluster(nodes: Mapping[int, Node], answer: Consolidation) -> Plan:
    """Decide what of a model's answer to believe. Touches nothing."""
    plan = Plan(seen=list(nodes))
    spent: set[int] = set()
    for proposed in answer.merges:
        union = believed(proposed, nodes, spent, plan.remarks)
        if union is not None:
            plan.unions.append(union)
            spent |= {union.survivor.id, *(node.id for node in union.absorbed)}
    for item in dict.fromkeys(answer.make_dead):
        node = nodes.get(item)
        if node is None or node.pinned or node.status != "dying" or item in spent:
            plan.remarks.append(f"ignored make_dead {item}: {why_not(item, nodes, spent) or 'it is not dying'}")
        else:
            plan.dead.append(node)
    return plan


def believed(proposed: Proposed, nodes: Mapping[int, Node], spent: set[int], remarks: list[str]) -> Union | None:
    """Check one merge; ids that cannot be meant are ignored and reported."""
    survivor = proposed.survivor_id
    if reason := why_not(survivor, nodes, spent):
        remarks.append(f"ignored a merge into {survivor}: {reason}")
        return None
    absorbed = []
    for item in dict.fromkeys(proposed.absorbed_ids):
        reason = "it is the survivor itself" if item == survivor else why_not(item, nodes, spent)
        if reason:
            remarks.append(f"ignored {item} in a merge into {survivor}: {reason}")
        else:
            absorbed.append(nodes[item])
    if not absorbed:
        return None
    action, feeling = clean(proposed.merged_action, "action"), clean(proposed.merged_feeling, "feeling")
    told = merged(nodes[survivor].told, [node.told for node in absorbed], action, feeling)
    return Union(nodes[survivor], tuple(absorbed), told)


def why_not(item: int, nodes: Mapping[int, Node], spent: set[int]) -> str | None:
    """Say why an id cannot be used; None when it can."""
    node = nodes.get(item)
    if node is None:
        return "no scene of this cluster has that id"
    if node.pinned:
        return "it is pinned"
    if node.status == "dead":
        return "it is dead"
    return "it is in another merge" if item in spent else None


def clean(text: str, name: str) -> str:
    """Make a model's text one that can be kept."""
    return UNSTORABLE.sub("", text).strip()[: LONGEST[name]]


def consolidate(bout: Bout) -> Carry:
    """❹ Merge what is one, and let go what is spent."""
    if bout.thinker is None:

        def fade_only(unit: Unit) -> Done:
            faded = unit.run("episodic.fade", number=bout.number - GRACE)
            settled = unit.run("episodic.settle")
            return Done(counts={"faded": faded, "settled": settled}, skipped=f"{NO_MODEL}: nothing was merged")

        return fade_only
    plan = asked(bout)
    now = bout.ground.clock.now()
    ready = prepared(bout, [document_of(union.told, now) for union in plan.unions])

    def carry(unit: Unit) -> Done:
        return carry_out(unit, bout, plan, ready)

    return carry


def asked(bout: Bout) -> Plan:
    """Show the model every cluster in which something is fresh or dying."""
    plan = Plan()
    with bout.ground.store.read(bout.info.id) as unit:
        restless = [row["id"] for row in unit.all("episodic.restless")]
        living: dict[int, list[Row]] = {cluster: [] for cluster in restless}
        for row in unit.all("episodic.living_in", ids=restless):
            living[row["cluster_id"]].append(row)
        groups = {cluster: nodes_of(unit, worth_showing(rows)) for cluster, rows in living.items()}
    for cluster, nodes in groups.items():
        if len(nodes) < 2:
            plan.seen += nodes
            continue
        try:
            plan.add(plan_cluster(nodes, bout.ask(to_consolidate(nodes.values()), Consolidation)))
        except MalformedReply as error:
            plan.remarks.append(f"cluster {cluster}: {error.message}")
        except ProviderError as error:
            plan.remarks.append(f"the model could not be asked further: {error.message}")
            break
    return plan


def worth_showing(living: Iterable[Row]) -> list[int]:
    """Choose the scenes of a cluster that the model sees: fresh and dying first, then the important ones."""
    ranked = sorted(living, key=lambda row: (not row["fresh"], row["status"] != "dying", -row["importance"], row["id"]))
    return [row["id"] for row in ranked[:MOST_SHOWN]]


def carry_out(unit: Unit, bout: Bout, plan: Plan, ready: Prepared) -> Done:
    """Carry out what still holds: a scene that was changed meanwhile is left alone."""
    involved = [node for union in plan.unions for node in (union.survivor, *union.absorbed)] + plan.dead
    now = nodes_of(unit, [node.id for node in involved])
    remarks = list(plan.remarks)
    touched: set[int] = set()
    absorbed = merges = 0
    for place, union in enumerate(plan.unions):
        if any(is_changed(node, now.get(node.id)) for node in (union.survivor, *union.absorbed)):
            remarks.append(f"left the merge into {union.survivor.id}: its scenes changed meanwhile")
            continue
        unite(unit, bout, union, chosen(ready, [place]))
        touched |= {node.cluster_id for node in (union.survivor, *union.absorbed)}
        absorbed, merges = absorbed + len(union.absorbed), merges + 1
    going = [node.id for node in plan.dead if not is_changed(node, now.get(node.id))]
    dead = unit.run("episodic.make_dead", ids=going) if going else 0
    faded = unit.run("episodic.fade", number=bout.number - GRACE)
    settled = unit.run("episodic.settle_some", ids=plan.seen)
    refresh(unit, bout.ground.embedding, touched)
    counts = {"merges": merges, "absorbed": absorbed, "made_dead": dead, "faded": faded, "settled": settled}
    return Done(counts=counts, remarks=tuple(remarks))


def is_changed(then: Node, now: Node | None) -> bool:
    """Say whether a scene is not what it was when the plan was made."""
    return now is None or (then.told, then.status, then.pinned, then.cluster_id) != (
        now.told,
        now.status,
        now.pinned,
        now.cluster_id,
    )


def unite(unit: Unit, bout: Bout, union: Union, ready: Prepared) -> None:
    """Let a survivor take in the others: text, words, vector, importance, sources."""
    survivor, ground = union.survivor.id, bout.ground
    now = ground.clock.now()
    unit.run("episodic.scene_rewrite", id=survivor, **columns(union.told))
    ground.index.revise(unit, survivor, Prepared(ready.documents, ready.words, None), now)
    if ready.made is not None:
        ground.embedding.make_whole(unit, [survivor], ready.made, now)
    importance = strengthened(union.survivor.importance)
    unit.run("episodic.survive", id=survivor, importance=importance, lifespan=lifespan(importance))
    absorbed = [node.id for node in union.absorbed]
    unit.many("episodic.absorb", ({"id": item, "into": survivor} for item in absorbed))
    unit.many("kernel.source_add", ({"item": survivor, "source": item} for item in absorbed))
    ground.index.cover(unit, survivor, absorbed)
