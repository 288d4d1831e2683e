"""`everloom episodic …`: every verb of episodic memory as a command of the same name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.clock import read_instant
from everloom.errors import Rejected
from everloom.surfaces.cli.runtime.command import Group, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.episodic.entries.entry import Entry
    from everloom.episodic.scenes.node import Node
    from everloom.loom import Workspace

TARGETS = click.Choice(
    "preferences knowledge relationship partner_tools partner_map diary notes party_message partner_rules souls".split()
)
ACTIONS = click.Choice(["get", "append", "update", "delete"])
AXES = ("valence", "arousal", "dominance", "safety", "novelty", "trust")


@click.group(cls=Group)
def episodic() -> None:
    """Use every verb of episodic memory: scenes, notes, diary, patrols."""


def asked(
    invocation: Invocation, verb: Callable[[Episodic], Any], lines: Callable[[Any], Sequence[str | Table]]
) -> Answer:
    """Call one verb in the workspace that is meant, and write its answer."""
    with invocation.open() as loom:
        value = verb(invocation.take(loom).episodic)
    return Answer(value, lines(value))


@episodic.command
@click.pass_obj
def get_context(invocation: Invocation) -> Answer:
    """Give the blocks that a conversation begins with."""
    return asked(
        invocation,
        lambda memory: memory.get_context(),
        lambda found: [found.system_prompt, "", found.snapshot, "", "# Recent scenes", found.recent_nodes],
    )


@episodic.command
@click.argument("message", nargs=-1)
@click.option("--feeling", metavar="NUMBERS", help="Six numbers from -1 to 1, or valence=0.8,trust=0.5.")
@click.pass_obj
def recall(invocation: Invocation, message: tuple[str, ...], feeling: str | None) -> Answer:
    """Bring back fragments of what a message or a feeling touches."""
    felt = None if feeling is None else read_feeling(feeling)
    return asked(
        invocation,
        lambda memory: memory.recall(" ".join(message), feeling=felt),
        lambda found: [found.text or f"nothing: {found.reason}"],
    )


def read_feeling(text: str) -> dict[str, float]:
    """Read a feeling that was written as six numbers, or as some of them by name."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    pairs = [part.split("=", 1) if "=" in part else [axis, part] for axis, part in zip(AXES, parts, strict=False)]
    try:
        return {name.strip(): float(number) for name, number in pairs}
    except ValueError as error:
        raise Rejected(f"cannot read the feeling {text!r}", hint="write 0.5,-0.2,0,0,0,0.9 or valence=0.8") from error


@episodic.command
@click.argument("cluster_id", metavar="[CLUSTER]", type=ItemId, required=False)
@click.option("--limit", type=int, default=5, show_default=True, help="How many scenes at most.")
@click.option("--query", help="Only scenes that hold these words; of all clusters, the nearest first.")
@click.option("--no-nodes", is_flag=True, help="Without scenes.")
@click.pass_obj
def recall_memory(
    invocation: Invocation, cluster_id: int | None, limit: int, query: str | None, no_nodes: bool
) -> Answer:
    """List the clusters, or bring back one cluster's scenes."""
    return asked(
        invocation,
        lambda memory: memory.recall_memory(cluster_id, limit=limit, query=query, no_nodes=no_nodes),
        lambda found: [found.text or "there are no clusters yet: they come with the first patrol"],
    )


@episodic.command
@click.argument("query", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(["or", "and"]), default="or", show_default=True, help="Any word, or all.")
@click.option("--limit", type=int, default=10, show_default=True, help="How many scenes at most.")
@click.pass_obj
def search_memory(invocation: Invocation, query: tuple[str, ...], mode: Any, limit: int) -> Answer:
    """Look for scenes on purpose, forgotten ones included."""
    return asked(
        invocation,
        lambda memory: memory.search_memory(" ".join(query), mode=mode, limit=limit),
        lambda found: [found.text],
    )


@episodic.command
@click.argument("query", nargs=-1)
@click.option("--from", "begin", metavar="DATE", help="Only what was said then or later.")
@click.option("--until", "end", metavar="DATE", help="Only what was said then or earlier.")
@click.option("--limit", type=int, default=10, show_default=True, help="How many at most.")
@click.pass_obj
def search_history(
    invocation: Invocation, query: tuple[str, ...], begin: str | None, end: str | None, limit: int
) -> Answer:
    """Find what was said in conversations."""
    with invocation.open() as loom:
        workspace = invocation.take(loom)
        found = workspace.episodic.search_history(" ".join(query) or None, limit=limit, **span(workspace, begin, end))
    return Answer({"messages": found}, [f"[{each.id}] {each.text}" for each in found] or ["nothing found"])


def span(workspace: Workspace, begin: str | None, end: str | None) -> dict[str, Any]:
    """Read dates as days of the workspace's zone, counted whole."""
    zone = workspace.info.zone
    return {
        "date_from": read_instant(begin, zone) if begin else None,
        "date_to": read_instant(end, zone, end_of_day=True) if end else None,
    }


@episodic.command
@click.option("--scene", "scenes", multiple=True, metavar="JSON", help="A scene; may be repeated.")
@click.option(
    "--scenes", "file", type=click.Path(path_type=Path), help="A file of scenes: JSON, or one a line; - is stdin."
)
@click.option("--note", "noted", multiple=True, help="Something to do; may be repeated.")
@click.option("--someday", multiple=True, help="Something for some day; may be repeated.")
@click.option(
    "--replace", "replaced", multiple=True, type=ItemId, metavar="ID", help="A waiting scene to take back first."
)
@click.pass_obj
def update_notes(invocation: Invocation, /, scenes: tuple[str, ...], file: Path | None, **given: Any) -> Answer:
    """Write down scenes and notes; ten waiting scenes start a patrol."""
    told = [*scenes, *read_scenes(file)]
    notes = [*given["noted"], *({"content": text, "type": "someday"} for text in given["someday"])]
    replaced = given["replaced"]
    return asked(
        invocation,
        lambda memory: memory.update_notes(
            action="update" if replaced else "append", scenes=told, notes=notes, scene_ids=replaced
        ),
        noted_lines,
    )


def read_scenes(file: Path | None) -> list[Any]:
    """Read scenes from a file: a JSON list, or one scene a line. What is no JSON is handed on as it is."""
    if file is None:
        return []
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Rejected(f"cannot read {file}: {error.strerror}", hint="name a file of scenes") from error
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return [line for line in text.splitlines() if line.strip()]
    return whole if isinstance(whole, list) else [whole]


def noted_lines(kept: Any) -> list[str | Table]:
    """Tell what was kept, what was not, and what waits."""
    lines: list[str | Table] = [kept.message]
    lines += [f"could not be read, kept as note {each.id}: {each.reason}" for each in kept.rejected]
    lines += list(kept.remarks)
    state = f"; patrol: {kept.patrol}" if kept.patrol else ""
    return [*lines, f"{kept.pending_scenes} scenes wait for a patrol{state}"]


@episodic.command
@click.argument("target", type=TARGETS)
@click.argument("action", type=ACTIONS)
@click.argument("content", nargs=-1)
@click.option("--key", help="Which one; needed to update and delete.")
@click.option("--location", help="Where it is.")
@click.option("--to", help="The Being that a message goes to.")
@click.pass_obj
def update_memory(
    invocation: Invocation, /, target: Any, action: Any, content: tuple[str, ...], **given: Any
) -> Answer:
    """Read or change preferences, knowledge, diary, notes, rules, soul, …"""
    return asked(
        invocation,
        lambda memory: memory.update_memory(target, action, " ".join(content) or None, **given),
        lambda found: [found.message, *changed_lines(found)],
    )


def changed_lines(found: Any) -> Iterator[str | Table]:
    """Show what was read, or what was before and what is now."""
    if found.entries:
        yield Table([(entry.key, entry.title, entry.content) for entry in found.entries], ("key", "title", "content"))
    for name, entry in (("before", found.before), ("after", found.after)):
        if entry is not None:
            yield f"{name}: {entry.content}"


@episodic.command
@click.argument("entity_name", metavar="NAME")
@click.argument("content", nargs=-1)
@click.option(
    "--type", "relation_type", default="person", show_default=True, help="person, device, ai, organization, …"
)
@click.option("--delete", "is_deleted", is_flag=True, help="Forget it.")
@click.pass_obj
def update_relation(
    invocation: Invocation, entity_name: str, content: tuple[str, ...], relation_type: str, is_deleted: bool
) -> Answer:
    """Write down who somebody or something is, or forget it."""

    def lines(entry: Entry) -> list[str]:
        return [f"{'forgot' if is_deleted else 'kept'} {entry.key}: {entry.content}"]

    return asked(
        invocation,
        lambda memory: memory.update_relation(
            entity_name, relation_type, " ".join(content) or None, action="delete" if is_deleted else "upsert"
        ),
        lines,
    )


@episodic.command
@click.argument("node_ids", metavar="ID...", type=ItemId, nargs=-1, required=True)
@click.option("--summary", required=True, help="What all of them say.")
@click.option("--feeling", help="How it felt.")
@click.pass_obj
def merge_nodes(invocation: Invocation, node_ids: tuple[int, ...], summary: str, feeling: str | None) -> Answer:
    """Make one scene of several; the originals stay, absorbed."""
    return asked(
        invocation,
        lambda memory: memory.merge_nodes(node_ids, summary, feeling),
        lambda merged: [f"scene {merged.node.id} stands for {', '.join(map(str, merged.absorbed_ids))}"],
    )


@episodic.command
@click.argument("node_id", metavar="ID", type=ItemId)
@click.pass_obj
def pin_node(invocation: Invocation, node_id: int) -> Answer:
    """Hold a scene against ageing and dying."""
    return asked(invocation, lambda memory: memory.pin_node(node_id), node_lines)


@episodic.command
@click.argument("node_id", metavar="ID", type=ItemId)
@click.pass_obj
def unpin_node(invocation: Invocation, node_id: int) -> Answer:
    """Let a pinned scene go."""
    return asked(invocation, lambda memory: memory.unpin_node(node_id), node_lines)


@episodic.command
@click.argument("node_id", metavar="ID", type=ItemId)
@click.pass_obj
def show(invocation: Invocation, node_id: int) -> Answer:
    """Show a scene with every field; looking does not count as recalling."""
    return asked(invocation, lambda memory: memory.show(node_id), node_lines)


def node_lines(node: Node) -> list[str | Table]:
    """Write a scene for people."""
    facts = [
        ("id", str(node.id)),
        ("status", f"{node.status}{f' ({node.death})' if node.death else ''}{', pinned' if node.pinned else ''}"),
        ("importance", f"{node.importance:.2f}, of which {node.strength:.2f} is left"),
        ("patrols", f"{node.session_count}, recalled {node.reactivation_count} times"),
        ("cluster", str(node.cluster_id)),
        ("themes", node.themes),
        ("actors", node.scene.actors),
        ("emotion", "" if node.emotion is None else json.dumps(node.emotion.as_dict())),
        ("absorbed into", "" if node.absorbed_into is None else str(node.absorbed_into)),
    ]
    return [node.text, Table([(name, value) for name, value in facts if value not in ("", ())])]


@episodic.command
@click.option("--limit", type=int, default=1, show_default=True, help="How many patrols.")
@click.pass_obj
def patrol_report(invocation: Invocation, limit: int) -> Answer:
    """Show the newest patrols step by step."""
    from everloom.surfaces.cli.commands.patrol import report_lines  # noqa: PLC0415  only what runs is loaded

    with invocation.open() as loom:
        workspace = invocation.take(loom)
        found = workspace.episodic.patrol_report(limit=limit)
    lines = [line for report in found for line in report_lines(report, workspace.info.zone)]
    return Answer({"patrols": found}, lines or ["there was no patrol yet"])


@episodic.command
@click.pass_obj
def trigger_patrol(invocation: Invocation) -> Answer:
    """Run a patrol now, or go on with one that was interrupted."""
    from everloom.surfaces.cli.commands.patrol import run  # noqa: PLC0415  only what runs is loaded

    return run(invocation)


@episodic.command
@click.pass_obj
def census(invocation: Invocation) -> Answer:
    """Count scenes by how they are, clusters, and notes that wait."""
    return asked(invocation, lambda memory: memory.census(), lambda found: [Table(list(found.items()))])
