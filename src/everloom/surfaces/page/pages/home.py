"""The first page: whose memory this is, what changed since the person last looked, what waits, and whether it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.errors import Forbidden
from everloom.surfaces.page.history import changing, tell
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.kernel.journal import Event
    from everloom.loom import Workspace

# The browser keeps the id of the newest event that its person has seen, for each workspace.
_LOOKED = "everloom_looked_{}"
_MOST_CHANGES = 200
_SHOWN_CHANGES = 25
_PAGE_TOKENS = 20_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that waits for somebody: how much, what, and where to see to it."""

    count: int
    what: str
    path: str


def begin(visit: Visit) -> Response:
    """Lead to the workspace that a person most likely wants, or welcome somebody who has none."""
    known = visit.entrance.reachable(visit.token)
    wanted = visit.entrance.process.workspace or visit.entrance.process.default_workspace
    chosen = next((each for each in known if each.name == wanted), known[-1] if known else None)
    if chosen is None:
        return visit.page("welcome.html", title="Welcome", address=str(visit.request.base_url).rstrip("/"))
    return visit.go(f"/w/{chosen.id}/")


def make_the_sample(visit: Visit) -> Response:
    """Make the sample workspace, and lead to it."""
    if not (visit.is_owner and visit.may_write):
        raise Forbidden("only whoever runs this server can make the sample", hint="run `everloom init --sample` there")
    from everloom.sample import SAMPLE_NAME, make_sample  # noqa: PLC0415  most visits make none

    made = make_sample(visit.loom.settings)
    said = "This is the sample: invented people and an old boat." if made.made else "The sample was there already."
    return visit.go(f"/w/{visit.loom.workspaces.get(SAMPLE_NAME).id}/", said)


def home(visit: Visit) -> Response:
    """Show where the memory stands."""
    workspace = visit.workspace
    kept = visit.kept(_LOOKED.format(workspace.info.id))
    seen = int(kept) if kept and kept.isdecimal() and len(kept) < 19 else None
    read = workspace.events(limit=_MOST_CHANGES)
    changes = changing(read if seen is None else [each for each in read if each.id > seen])
    orientation = workspace.semantic.orient(max_tokens=_PAGE_TOKENS)
    return visit.page(
        "home.html",
        title="Home",
        orientation=orientation,
        days=tell(workspace, changes[:_SHOWN_CHANGES]),
        more=0 if seen is None else max(0, len(changes) - _SHOWN_CHANGES),
        is_cut=_is_cut(read, seen),
        is_first=seen is None,
        newest=read[0].id if read else seen,
        waiting=[each for each in _waiting(workspace, orientation.pending_consolidation_count) if each.count],
        health=_health(workspace),
    )


def note_looked(visit: Visit) -> Response:
    """Remember in the browser up to where a person has seen what changed."""
    newest = visit.form.number("newest")
    if newest is not None:
        visit.keep(_LOOKED.format(visit.workspace.info.id), str(newest))
    return visit.go(visit.url())


def _is_cut(read: list[Event], seen: int | None) -> bool:
    """Return whether more may have happened since than was read."""
    return seen is not None and len(read) >= _MOST_CHANGES and read[-1].id > seen


def _waiting(workspace: Workspace, pending: int) -> list[Waiting]:
    return [
        Waiting(pending, "subjects and intersections wait for consolidation", "consolidation"),
        Waiting(workspace.review.list_held(limit=1).waiting, "writes wait for your approval", "review"),
        Waiting(len(workspace.loom.work.failed(workspace.info)), "background tasks failed when they last ran", "work"),
    ]


def _health(workspace: Workspace) -> list[tuple[bool, str]]:
    """Say what works, each in a sentence."""
    store = "The store is read-only." if workspace.loom.store.is_read_only else "The store answers."
    with workspace.op.read() as unit:
        backlog = workspace.loom.embedding.backlog(unit)
    waiting = backlog.unembedded + sum(backlog.by_others.values())
    vectors = (
        f"{waiting:,} texts wait for their vectors and are found by words only."
        if waiting
        else "Every text is found by its words and its meaning."
    )
    return [(True, store), (waiting == 0, vectors)]


PATHS = (
    look("/", begin),
    form("/sample", make_the_sample),
    look(WORKSPACE, home),
    form(f"{WORKSPACE}looked", note_looked),
)
