"""Scenes: the clusters as a map, emotions over time, a scene and its life, patrols step by step, and what waits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import Response

from everloom.episodic.scenes.scene import AXES, GRACE, lifespan
from everloom.errors import EverloomError
from everloom.kernel.lifecycle import DYING, PATROLS_TO_FADE, strength_after_patrols
from everloom.surfaces.page.paths import SCENE, SCENES, WORKSPACE, form, look
from everloom.surfaces.page.pictures.clusters import ClusterDot, draw_clusters
from everloom.surfaces.page.pictures.emotions import FeltPoint, draw_bars, draw_lines
from everloom.surfaces.page.pictures.lifetime import Lifetime, draw_lifetime
from everloom.surfaces.page.visit import Visit
from everloom.wiring.jobs import Jobs

if TYPE_CHECKING:
    from everloom.episodic.scenes import ClusterMap, EmotionHistory, Node
    from everloom.episodic.scenes.overview import PlacedCluster

_TOKENS = 60_000
_NEWEST, _IN_CLUSTER, _PATROLS = 15, 50, 20
_MOST_PATROLS = 100
# How much of the history of a scene is shown, and how many clusters it can be moved to by a list.
_CHANGES, _OFFERED = 20, 100
# How many of the notes that wait are shown.
_MOST_WAITING = 30


def scenes(visit: Visit) -> Response:
    """Show the clusters, the emotions, the newest scenes and what waits."""
    return _overview(visit)


def _overview(visit: Visit, error: EverloomError | None = None, typed: Mapping[str, str] | None = None) -> Response:
    memory = visit.workspace.episodic
    clusters = memory.map_clusters(max_tokens=_TOKENS)
    history = memory.emotions_over_time(max_tokens=_TOKENS)
    newest = memory.list_scenes(before=visit.asked_number("before", 0) or None, limit=_NEWEST, max_tokens=_TOKENS)
    waiting = memory.update_memory("notes", "get", max_tokens=_TOKENS).entries
    return visit.page(
        "scenes.html",
        200 if error is None else 422,
        title="Scenes",
        maps=_maps(visit, clusters),
        clusters=clusters,
        emotions=_emotions(history),
        history=history,
        axes=AXES,
        newest=newest,
        waiting=[(each, _told(each.title, each.content)) for each in waiting[:_MOST_WAITING]],
        more_waiting=max(0, len(waiting) - _MOST_WAITING),
        latest=next(iter(memory.patrol_report(max_tokens=_TOKENS)), None),
        error=error,
        typed=defaultdict(str, typed or {}),
    )


def _maps(visit: Visit, found: ClusterMap) -> list[tuple[str, Markup]]:
    """Draw one map for each root."""
    drawn = []
    for colour, root in enumerate((each for each in found.clusters if each.cluster.is_root), 1):
        below = [each for each in found.clusters if each.cluster.parent_id == root.cluster.id and each.cluster.nodes]
        if below:
            dots = _filling([_dot(visit, each) for each in below])
            drawn.append((root.cluster.name, draw_clusters(root.cluster.name, dots, colour)))
    return drawn


def _dot(visit: Visit, placed: PlacedCluster) -> ClusterDot:
    cluster = placed.cluster
    return ClusterDot(
        name="in no cluster yet" if cluster.is_root else cluster.name,
        scenes=cluster.nodes,
        living=cluster.active + cluster.dying,
        # What belongs nowhere yet stands at the edge.
        x=-0.9 if placed.x is None else placed.x,
        y=0.9 if placed.y is None else placed.y,
        href=visit.url(f"scenes/cluster/{cluster.id}"),
        is_root=cluster.is_root,
    )


def _filling(dots: list[ClusterDot]) -> list[ClusterDot]:
    """Spread the clusters of one root over their map: all roots share one projection."""
    placed = [each for each in dots if not each.is_root]
    if len(placed) < 2:
        return dots
    left, right = min(each.x for each in placed), max(each.x for each in placed)
    top, bottom = min(each.y for each in placed), max(each.y for each in placed)

    def scaled(value: float, low: float, high: float) -> float:
        return (value - low) / (high - low) * 1.7 - 0.85 if high > low else 0.0

    return [
        each if each.is_root else replace(each, x=scaled(each.x, left, right), y=scaled(each.y, top, bottom))
        for each in dots
    ]


def _emotions(history: EmotionHistory) -> Markup | None:
    if len(history.periods) < 2:
        return None
    points = [FeltPoint(each.begins, each.scenes, each.emotion.as_dict()) for each in history.periods]
    return draw_lines(points, AXES, lambda day: f"{day:%b %Y}" if history.grain == "month" else f"{day.day} {day:%b}")


def _told(kind: str, content: str) -> str:
    """Say what a waiting note tells; that of a scene is JSON, unless it could not be read."""
    if kind != "scene":
        return content
    try:
        read = json.loads(content)
    except ValueError:
        return content
    return str(read.get("action") or content) if isinstance(read, dict) else content


def cluster(visit: Visit) -> Response:
    """Show the scenes of one cluster."""
    return _inside(visit, visit.number_in_path("id"))


def _inside(visit: Visit, cluster_id: int, error: EverloomError | None = None) -> Response:
    found = visit.workspace.episodic.list_scenes(
        cluster_id, before=visit.asked_number("before", 0) or None, limit=_IN_CLUSTER, max_tokens=_TOKENS
    )
    return visit.page(
        "cluster.html",
        200 if error is None else 422,
        title="Cluster",
        cluster=found.cluster,
        found=found,
        error=error,
        typed=defaultdict(
            str, {} if error is None else {name: visit.form.text(name) for name in ("summary", "feeling")}
        ),
        chosen=set() if error is None else set(visit.form.texts("id")),
    )


def scene(visit: Visit) -> Response:
    """Show one scene: what happened, how it felt, how it lives, what was changed about it."""
    return shown_scene(visit)


def shown_scene(
    visit: Visit, error: EverloomError | None = None, typed: Mapping[str, str] | None = None, which: str = ""
) -> Response:
    """Show the scene of the path; with what was typed into one of its forms if that was refused."""
    node_id = visit.number_in_path("id")
    memory = visit.workspace.episodic
    node = memory.show(node_id)
    why = visit.workspace.why(node_id)
    before = visit.asked_number("before", 0) or None
    return visit.page(
        "scene.html",
        200 if error is None else 422,
        title=f"Scene {node_id}",
        history=memory.node_history(node_id, before=before, limit=_CHANGES, max_tokens=_TOKENS),
        clusters=memory.map_clusters(limit=_OFFERED, max_tokens=_TOKENS).clusters,
        told=told_of(node),
        axes=AXES,
        error=error,
        refused=which,
        typed=defaultdict(str, typed or {}),
        node=node,
        cluster=memory.list_scenes(node.cluster_id, limit=1).cluster,
        bars=None if node.emotion is None else draw_bars(node.emotion.as_dict()),
        life=draw_lifetime(_lifetime(node)),
        dies_at=lifespan(node.importance),
        grace=GRACE,
        fade=PATROLS_TO_FADE,
        bound=DYING,
        curve=_curve(node),
        sources=why.because,
    )


def told_of(node: Node) -> dict[str, str]:
    """Write the fields of a scene as its form shows them: a list has a line for each entry."""
    scene = node.scene
    when = (f"{each.date} | {each.action} | {each.feeling}".rstrip(" |") for each in scene.when)
    numbers = {axis: f"{value:g}" for axis, value in (node.emotion.as_dict() if node.emotion else {}).items()}
    return {
        "action": scene.action,
        "feeling": node.feeling,
        "setting": scene.setting,
        "importance": f"{node.importance:g}",
        "when": "\n".join(when),
        "themes": "\n".join(node.themes),
        **{name: "\n".join(getattr(scene, name)) for name in ("actors", "dialogue", "sensory")},
        **{axis: numbers.get(axis, "") for axis in AXES},
    }


def _lifetime(node: Node) -> Lifetime:
    dies_at = max(0, lifespan(node.importance))
    return Lifetime(
        importance=node.importance,
        age=node.session_count - node.reactivation_count,
        dies_at=dies_at,
        fades_at=dies_at + GRACE,
        bound=DYING,
        strength_at=partial(_strength, node.importance),
        is_ageing=node.death in (None, "faded"),
    )


def _strength(importance: float, age: float) -> float:
    # The formula takes whole patrols; between them, the curve goes on.
    return strength_after_patrols(importance, age, 0)  # type: ignore[arg-type]


def _curve(node: Node) -> list[tuple[int, str]]:
    """List the strength at some ages, for the table behind the picture."""
    dies_at, age = max(1, lifespan(node.importance)), node.session_count - node.reactivation_count
    ages = sorted({0, age, *range(0, dies_at + 1, max(1, dies_at // 8)), dies_at, dies_at + GRACE})
    return [(each, f"{_strength(node.importance, each):.3f}{' (now)' if each == age else ''}") for each in ages]


def patrols(visit: Visit) -> Response:
    """Show the latest patrols, step by step."""
    wanted = visit.asked_number("limit", _PATROLS, least=1, most=_MOST_PATROLS)
    reports = visit.workspace.episodic.patrol_report(limit=wanted, max_tokens=_TOKENS)
    more = min(_MOST_PATROLS, wanted * 2) if len(reports) == wanted < _MOST_PATROLS else None
    return visit.page("patrols.html", title="Patrols", reports=reports, more=more)


def patrol(visit: Visit) -> Response:
    """Start a patrol in the background: with a model it takes longer than anybody waits for a page."""
    job = Jobs(visit.acting("trigger_patrol")).start("patrol")
    return visit.go(visit.url("patrols"), f"A patrol runs as job {job.id}. Load this page again to see how it went.")


def note_scene(visit: Visit) -> Response:
    """Note a scene down, or something to do; with what was typed if it cannot be read."""
    sent = visit.form
    names = ("action", "feeling", "actors", "when", "themes", "setting", "dialogue", "sensory", "importance", *AXES)
    typed = {name: sent.text(name) for name in (*names, "note", "note_type")}
    try:
        written = visit.acting("update_notes").episodic.update_notes(
            scenes=[_scene_from(typed)] if typed["action"].strip() else (),
            notes=[{"content": typed["note"], "type": typed["note_type"] or "note"}] if typed["note"].strip() else (),
        )
    except EverloomError as error:
        return _overview(visit, error, typed)
    trouble = "".join(f" It cannot become a scene yet: {each.reason}." for each in written.rejected)
    started = f" A patrol takes the waiting scenes in: {written.patrol.replace('_', ' ')}." if written.patrol else ""
    return visit.go(visit.url("scenes#waiting"), f"Noted.{trouble}{started}")


def _scene_from(typed: Mapping[str, str]) -> dict[str, Any]:
    """Build the scene that a form describes; what was left empty is left out."""
    told: dict[str, Any] = {
        name: typed[name].strip() for name in ("action", "feeling", "setting") if typed[name].strip()
    }
    for name, separator in (("actors", ","), ("themes", ","), ("dialogue", "\n"), ("sensory", "\n")):
        if parts := [part.strip() for part in typed[name].split(separator) if part.strip()]:
            told[name] = parts
    if typed["when"].strip():
        told["when"] = [typed["when"].strip()]
    if typed["importance"].strip():
        told["importance"] = typed["importance"].strip()
    if any(typed[axis].strip() for axis in AXES):
        told["emotion"] = {axis: typed[axis].strip() or "0" for axis in AXES}
    return told


def pin_scene(visit: Visit) -> Response:
    """Pin a scene, or let it age again."""
    node_id, is_pinned = visit.number_in_path("id"), visit.form.text("pinned") == "yes"
    memory = visit.acting("pin_node").episodic
    _ = memory.pin_node(node_id) if is_pinned else memory.unpin_node(node_id)
    said = "Pinned: it neither ages nor fades." if is_pinned else "It ages again."
    return visit.go(visit.url(f"scenes/{node_id}"), said)


def merge(visit: Visit) -> Response:
    """Merge scenes of a cluster into a new one."""
    sent, cluster_id = visit.form, visit.number_in_path("id")
    try:
        merged = visit.acting("merge_nodes").episodic.merge_nodes(
            sent.numbers("id"), sent.text("summary"), sent.given("feeling")
        )
    except EverloomError as error:
        return _inside(visit, cluster_id, error)
    said = f"Merged {len(merged.absorbed_ids)} scenes; they stay as its sources."
    return visit.go(visit.url(f"scenes/{merged.node.id}"), said)


PATHS = (
    look(SCENES, scenes),
    form(f"{SCENES}/note", note_scene),
    look(f"{SCENES}/cluster/{{id:int}}", cluster),
    form(f"{SCENES}/cluster/{{id:int}}/merge", merge),
    look(SCENE, scene),
    form(f"{SCENE}/pin", pin_scene),
    look(f"{WORKSPACE}patrols", patrols),
    form(f"{WORKSPACE}patrols", patrol),
)
