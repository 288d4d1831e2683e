"""The workspaces: choose one; whoever runs the server also makes, changes and removes them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from starlette.responses import Response

from everloom.errors import EverloomError, NotFound, Rejected
from everloom.kernel.tokens import Tokens
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.kernel.workspaces import WorkspaceInfo

_WORKSPACES = "/workspaces"
_ONE = f"{_WORKSPACES}/{{id:int}}"
_MOST_LISTED = 1_000


def workspaces(visit: Visit) -> Response:
    """List the workspaces that the person can reach."""
    return _shown(visit)


def _shown(visit: Visit, error: EverloomError | None = None) -> Response:
    known = visit.entrance.reachable(visit.token)
    typed = {name: visit.form.text(name) for name in ("name", "description", "time_zone")} if error else {}
    return visit.answer(
        "workspaces.html",
        error,
        title="Workspaces",
        known=known[:_MOST_LISTED],
        left_off=max(0, len(known) - _MOST_LISTED),
        zones=sorted(available_timezones()),
        default_zone=visit.loom.settings.workspace.time_zone,
        typed=typed,
    )


def create(visit: Visit) -> Response:
    """Make a workspace."""
    visit.must_own(writes=True)
    try:
        made = visit.loom.workspaces.create(
            visit.form.text("name").strip(),
            description=visit.form.text("description").strip(),
            time_zone=visit.form.given("time_zone"),
        )
    except EverloomError as error:
        return _shown(visit, error)
    return visit.go(f"/w/{made.id}/", f"The workspace “{made.name}” is made.")


def _info(visit: Visit) -> WorkspaceInfo:
    info = visit.loom.workspaces.by_id(visit.number_in_path("id"))
    if info is None:
        raise NotFound("there is no such workspace here", hint="the list of workspaces shows which there are")
    return info


def change_form(visit: Visit) -> Response:
    """Show what can be changed about a workspace, and what removing it would take along."""
    visit.must_own()
    return _change_shown(visit, _info(visit))


def _change_shown(visit: Visit, info: WorkspaceInfo, error: EverloomError | None = None) -> Response:
    loom = visit.loom
    workspace = loom.workspace(info.name, refusal=Rejected("looking at a page writes nothing"))
    fields = {"name": info.name, "description": info.description, "time_zone": info.time_zone}
    typed = {name: visit.form.text(name, value) for name, value in fields.items()} if error else fields
    return visit.answer(
        "workspace.html",
        error,
        title=info.name,
        one=info,
        stats=workspace.semantic.get_stats(),
        directories=loom.places.choose_removable(info),
        kept=[each for each in loom.places.directories(info) if each not in loom.places.choose_removable(info)],
        tokens=[each for each in Tokens(loom.store, loom.clock).list() if each.workspace == info.name],
        zones=sorted(available_timezones()),
        typed=typed,
    )


def change(visit: Visit) -> Response:
    """Change the name, the description or the time zone of a workspace."""
    visit.must_own(writes=True)
    info = _info(visit)
    try:
        changed = visit.loom.change_workspace(
            info.name,
            new_name=visit.form.text("name").strip(),
            description=visit.form.text("description").strip(),
            time_zone=visit.form.given("time_zone"),
        )
    except EverloomError as error:
        return _change_shown(visit, info, error)
    return visit.go(_WORKSPACES, f"“{changed.name}” is changed.")


def remove(visit: Visit) -> Response:
    """Remove a workspace and everything in it, once its name was typed in."""
    visit.must_own(writes=True)
    info = _info(visit)
    if visit.form.text("confirm") != info.name:
        failure = Rejected("the name that was typed is another one; nothing was removed", hint="type it exactly")
        return _change_shown(visit, info, failure)
    gone = visit.loom.remove_workspace(info.name)
    kept = f" Kept, because somebody chose it: {', '.join(map(str, gone.kept))}." if gone.kept else ""
    return visit.go(_WORKSPACES, f"“{info.name}” and everything in it are removed.{kept}")


PATHS = (
    look(_WORKSPACES, workspaces),
    form(_WORKSPACES, create),
    look(_ONE, change_form),
    form(_ONE, change),
    form(f"{_ONE}/remove", remove),
)
