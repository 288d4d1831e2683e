"""The memory graph: memories and relations drawn, each memory with its file and its history, and the two pages."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from markupsafe import Markup
from starlette.responses import Response

from everloom.errors import Conflict, EverloomError, NotFound, Rejected, meaning_of
from everloom.graph.kinds import KINDS
from everloom.graph.parameters import MemoryType
from everloom.kernel.lifecycle import VAULT_STRENGTH
from everloom.surfaces.page.html import LONGEST_SHOWN, clean
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.pictures.memories import TYPE_COLOURS, MemoryDot, MemoryLine, draw_memories, shape
from everloom.surfaces.page.pictures.svg import picture
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.graph import Graph, Memory
    from everloom.graph.results import Drawing
    from everloom.loom import Workspace

_GRAPH = f"{WORKSPACE}graph"
_MEMORY = f"{_GRAPH}/memory/{{id}}"
_TOKENS = 60_000
_SIZES = (50, 100, 150)
_STATUSES = ("active", "fading", "dormant", "archived")
_RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
_VERSIONS = 20
# So many lines of a difference are shown.
_LONGEST_DIFFERENCE = 400
_FIELDS = ("title", "type", "content", "tags", "importance", "confidence", "steps", "preconditions", "postconditions")


def graph(visit: Visit) -> Response:
    """Show the graph: a picture, what to choose from, CORE and REFLECTION."""
    return _overview(visit)


def _overview(visit: Visit, error: EverloomError | None = None, typed: Mapping[str, str] | None = None) -> Response:
    known = visit.workspace.graphs.list()
    values: dict[str, Any] = {
        "graphs": known,
        "types": list(KINDS),
        "statuses": _STATUSES,
        "sizes": _SIZES,
        "error": error,
        "typed": defaultdict(str, typed or {}),
        "given": {name: visit.asked(name) for name in ("type", "tag", "status", "size", "graph")},
    }
    if not known:
        # Nothing is opened, so that looking creates no directory.
        return visit.page("graph.html", 200 if error is None else 422, title="Graph", opened=None, **values)
    opened = _opened(visit, visit.workspace)
    drawing = opened.draw(
        types=[visit.asked("type")] if visit.asked("type") in KINDS else None,
        tags=[visit.asked("tag")] if visit.asked("tag") else None,
        statuses=cast("Any", [visit.asked("status")] if visit.asked("status") in _STATUSES else None),
        limit=visit.asked_number("size", _SIZES[1], least=1, most=_SIZES[-1]),
        max_tokens=_TOKENS,
    )
    return visit.page(
        "graph.html",
        200 if error is None else 422,
        title="Graph",
        opened=opened,
        place=next((each for each in known if each.name == opened.name), known[0]),
        drawing=drawing,
        # One that would show as another cannot be chosen from a list.
        tags={name: count for name, count in drawing.tags.items() if clean(name) == name},
        picture=_picture(visit, opened, drawing),
        names={each.id: each for each in drawing.memories},
        legend=_legend(drawing),
        pages={each.path: each for each in opened.pages(max_tokens=_TOKENS)},
        **values,
    )


def _opened(visit: Visit, workspace: Workspace) -> Graph:
    """Open the graph that was asked for; by default, the usual one."""
    sent = visit.form.given("graph") if visit.request.method == "POST" else None
    return workspace.graphs.open(sent or visit.asked("graph") or None, follow=workspace.refusal is None)


def _at(visit: Visit, opened: Graph, identity: str) -> str:
    chosen = visit.asked("graph") or (visit.form.text("graph") if visit.request.method == "POST" else "")
    return visit.url(f"graph/memory/{identity}", graph=opened.name if chosen else None)


def _picture(visit: Visit, opened: Graph, drawing: Drawing, chosen: str | None = None) -> Markup | None:
    if not drawing.memories:
        return None
    places = {each.id: at for at, each in enumerate(drawing.memories)}
    dots = [
        MemoryDot(each.title, each.type, each.status, each.importance, _at(visit, opened, each.id), each.id == chosen)
        for each in drawing.memories
    ]
    lines = [
        MemoryLine(places[each.from_id], places[each.to_id], each.type.replace("_", " ").lower(), each.strength or 0.5)
        for each in drawing.relations
    ]
    return draw_memories(dots, lines)


def _legend(drawing: Drawing) -> list[tuple[str, Markup]]:
    """Draw the sign of each type and of each state that occurs."""
    types = [(name, "active", TYPE_COLOURS.get(name, 8)) for name in drawing.types]
    states = [(name, name, 1) for name in _STATUSES if name in drawing.statuses]
    return [
        (name.replace("_", " "), picture(16, 16, name, name, shape(status, (8, 8), 6, colour), class_="picture sign"))
        for name, status, colour in (*types, *states)
    ]


def memory(visit: Visit) -> Response:
    """Show one memory: its text, its fields, its relations, its file and its history."""
    return _shown(visit, str(visit.request.path_params["id"]))


def _shown(
    visit: Visit,
    identity: str,
    error: EverloomError | None = None,
    typed: Mapping[str, str] | None = None,
    added: Mapping[str, str] | None = None,
) -> Response:
    if not visit.workspace.graphs.list():
        raise NotFound("there is no graph yet", hint="the graph begins with its first memory")
    opened = _opened(visit, visit.workspace)
    found = opened.get(identity)
    around = opened.draw(
        found.id, hops=visit.asked_number("hops", 1, least=1, most=3), limit=_SIZES[0], max_tokens=_TOKENS
    )
    edges = {each.id: each for each in opened.edge_search(memory_id=found.id, limit=100, max_tokens=_TOKENS)}
    history = opened.history(found.id, limit=_VERSIONS, max_tokens=_TOKENS)
    return visit.page(
        "memory.html",
        200 if error is None else meaning_of(error).http_status,
        title=found.title,
        opened=opened,
        memory=found,
        text=found.content[:LONGEST_SHOWN],
        around=around,
        picture=_picture(visit, opened, around, found.id) if len(around.memories) > 1 else None,
        names={each.id: each for each in around.memories},
        edges=edges,
        near=[(each.title, each.type, each.status) for each in around.memories],
        history=history,
        difference=_difference(opened, found, visit.asked("commit")) if visit.asked("commit") else None,
        graph_name=visit.asked("graph") or None,
        types=list(dict.fromkeys([*KINDS, found.type])),
        relation_types=_RELATIONS,
        is_pinned=found.decay_score == VAULT_STRENGTH,
        error=error,
        is_conflict=typed is not None and isinstance(error, Conflict),
        added=defaultdict(str, added or {}),
        # A long text is loaded once, unless somebody is about to change it.
        is_changeable=typed is not None or len(found.content) <= LONGEST_SHOWN or bool(visit.asked("change")),
        typed=defaultdict(str, typed or _fields_of(found)),
        # After a conflict the person sees what it says now, and may replace just that.
        expected=found.version if typed is None or isinstance(error, Conflict) else typed["version"],
    )


def _fields_of(found: Memory) -> dict[str, str]:
    lists = {name: "\n".join(getattr(found, name)) for name in ("steps", "preconditions", "postconditions")}
    return {
        "title": found.title,
        "type": found.type,
        "content": found.content,
        "tags": ", ".join(found.tags),
        "importance": f"{found.importance:g}",
        "confidence": f"{found.confidence:g}",
        **lists,
    }


def _difference(opened: Graph, found: Memory, commit: str) -> list[tuple[str, str]]:
    """Compare the file of a memory in a commit with the file before that."""
    versions = opened.history(found.id, limit=_VERSIONS + 1, max_tokens=_TOKENS)
    at = next((place for place, each in enumerate(versions) if each.commit == commit), None)
    if at is None:
        raise NotFound("this memory has no such version", hint="choose one of its history")
    new = opened.version(found.id, commit).text
    old = opened.version(found.id, versions[at + 1].commit).text if at + 1 < len(versions) else ""
    return list(_compared(old, new))


def _compared(old: str, new: str) -> Iterator[tuple[str, str]]:
    lines = difflib.unified_diff(old[:LONGEST_SHOWN].splitlines(), new[:LONGEST_SHOWN].splitlines(), n=3, lineterm="")
    for number, line in enumerate(lines):
        if number >= _LONGEST_DIFFERENCE:
            yield "more", "…"
            return
        # The first two lines name files, of which there is only one here.
        if number >= 2:
            yield (
                {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same"),
                line if line[:1] == "@" else line[1:],
            )


def store(visit: Visit) -> Response:
    """Store a new memory."""
    typed = {name: visit.form.text(name) for name in _FIELDS}
    try:
        opened = _opened(visit, visit.acting("memory_store"))
        made = opened.store(**_given(typed))
    except EverloomError as error:
        return _overview(visit, error, typed)
    if made.held:
        return visit.go(visit.url("review"), made.held)
    return visit.go(_at(visit, opened, made.id), "Stored." + _said(made.notices))


def _given(typed: Mapping[str, str]) -> dict[str, Any]:
    """Read the fields of a memory from a form; what was left empty is left to its default."""
    if typed["type"] not in get_args(MemoryType):
        raise Rejected("this is no type of memory", hint="choose one of the list")
    numbers = {name: _share(name, typed[name]) for name in ("importance", "confidence") if typed[name].strip()}
    lists = {
        name: lines
        for name in ("steps", "preconditions", "postconditions")
        if (lines := [line.strip() for line in typed[name].splitlines() if line.strip()])
    }
    tags = [tag.strip() for tag in typed["tags"].split(",") if tag.strip()]
    return {
        "title": typed["title"],
        "type": typed["type"],
        "content": typed["content"],
        "tags": tags,
        **numbers,
        **lists,
    }


def _share(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise Rejected(f"{name} is not a number", hint="use a number from 0 to 1") from None


def _said(notices: tuple[str, ...]) -> str:
    return "".join(f" {notice}." for notice in notices)


def update(visit: Visit) -> Response:
    """Change a memory, if it is still as the page showed it."""
    identity = str(visit.request.path_params["id"])
    typed = {name: visit.form.text(name) for name in (*_FIELDS, "version")}
    try:
        opened = _opened(visit, visit.acting("memory_update"))
        # An own type of a person's note is kept by leaving it out.
        own = (
            typed["type"] not in get_args(MemoryType)
            and typed["type"] == opened.draw(identity, limit=1).memories[0].type
        )
        given = _given({**typed, "type": "general"} if own else typed)
        if own:
            given.pop("type")
        done = opened.update(identity, expected_version=typed["version"], **given)
    except NotFound:
        raise
    except EverloomError as error:
        return _shown(visit, identity, error, typed)
    said = f"Changed: {', '.join(done.changed)}." if done.changed else "Nothing was different."
    return visit.go(_at(visit, opened, done.id), said + _said(done.notices))


def append(visit: Visit) -> Response:
    """Add to a memory, whatever it says by now."""
    identity, added = str(visit.request.path_params["id"]), _sent(visit, "content", "tags")
    try:
        opened = _opened(visit, visit.acting("memory_append"))
        tags = [tag.strip() for tag in added["tags"].split(",") if tag.strip()]
        done = opened.append(identity, content=visit.form.given("content"), tags=tags or None)
    except NotFound:
        raise
    except EverloomError as error:
        return _shown(visit, identity, error, added=added)
    return visit.go(_at(visit, opened, done.id), "Added." + _said(done.notices))


def relate(visit: Visit) -> Response:
    """Relate a memory to another."""
    identity, added = str(visit.request.path_params["id"]), _sent(visit, "to", "type", "context", "strength")
    try:
        if added["type"] not in _RELATIONS:
            raise Rejected("this is no type of relation", hint="choose one of the list")
        opened = _opened(visit, visit.acting("memory_relate"))
        strength = _share("strength", added["strength"]) if added["strength"].strip() else None
        kind, why = cast("Any", added["type"]), visit.form.given("context")
        opened.relate(identity, added["to"].strip(), kind, strength=strength, context=why)
    except EverloomError as error:
        # Also if the other memory is not found: its id was typed.
        return _shown(visit, identity, error, added=added)
    return visit.go(_at(visit, opened, identity), "Related.")


def _sent(visit: Visit, *names: str) -> dict[str, str]:
    return {name: visit.form.text(name) for name in names}


def pin(visit: Visit) -> Response:
    """Move a memory into the vault, or out of it."""
    identity, is_pinned = str(visit.request.path_params["id"]), visit.form.text("pinned") == "yes"
    opened = _opened(visit, visit.acting("memory_pin"))
    done = opened.pin(identity) if is_pinned else opened.unpin(identity)
    said = "Pinned: it is in the vault and does not fade." if is_pinned else "It may fade again."
    return visit.go(_at(visit, opened, done.id), said)


def delete(visit: Visit) -> Response:
    """Delete a memory after a person has confirmed it."""
    identity = str(visit.request.path_params["id"])
    if not visit.form.is_on("sure"):
        raise Rejected("nothing was deleted: the box was not ticked", hint="go back, and tick it if you are sure")
    opened = _opened(visit, visit.acting("memory_delete"))
    gone = opened.delete(identity)
    said = f"Deleted {gone.path} and {len(gone.edges)} relations."
    return visit.go(visit.url("graph", graph=visit.form.given("graph")), said + _said(gone.notices))


def refresh(visit: Visit) -> Response:
    """Write CORE.md and REFLECTION.md anew."""
    opened = _opened(visit, visit.acting("memory_core"))
    notices = (*opened.core().notices, *opened.reflection().notices)
    return visit.go(visit.url("graph", graph=visit.form.given("graph")), "Both pages are written." + _said(notices))


PATHS = (
    look(_GRAPH, graph),
    form(f"{_GRAPH}/store", store),
    form(f"{_GRAPH}/refresh", refresh),
    look(_MEMORY, memory),
    form(f"{_MEMORY}/update", update),
    form(f"{_MEMORY}/append", append),
    form(f"{_MEMORY}/relate", relate),
    form(f"{_MEMORY}/pin", pin),
    form(f"{_MEMORY}/delete", delete),
)
