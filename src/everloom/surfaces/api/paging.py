"""How to read on: one way for every list that goes on, a Link header with the address of the next page (RFC 8288).

Verbs name where to go on in their own ways (a cursor, an id before or after); a client of the API need not know which.
Pure. Refuses to know any verb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from everloom.kernel.verbs import REQUIRED
from everloom.surfaces.api.calls import ApiCall

# Parameters by which a verb goes on, if they hold an id or a cursor and not a time.
_ONWARD = {
    "cursor": (str,),
    "before": (int,),
    "after": (int,),
    "after_id": (int,),
    "event_id": (int,),
    "beyond": (str, int),
}
# What an entry is known by: most have an id, versions of a note a number.
_NAMES = ("id", "number")


def onward(call: ApiCall) -> str | None:
    """Name the parameter by which a list goes on; None if the answer is all there is."""
    if call.verb.effect.writes:
        return None
    known = {each.name: each for each in call.parameters}
    return next(
        (name for name, kinds in _ONWARD.items() if name in known and set(known[name].kinds) <= set(kinds)), None
    )


def next_page(call: ApiCall, given: Mapping[str, Any], whole: Mapping[str, Any]) -> str | None:
    """Return the address of the next page of an answer; None if there is none."""
    name = onward(call)
    # What a query found is ordered by how well it fits, and has no next page.
    if name is None or (name == "beyond" and str(given.get("query") or "").strip()):
        return None
    place = whole.get("cursor") if name == "cursor" else _last_shown(call, given, whole, name)
    if place is None:
        return None
    query = {key: value for key, value in given.items() if value is not None} | {name: place}
    return f"{call.path}?{urlencode(query, doseq=True)}"


def _last_shown(call: ApiCall, given: Mapping[str, Any], whole: Mapping[str, Any], name: str) -> int | str | None:
    """Find the id of the last entry that was shown, if more may follow."""
    places = next((found for each in whole.values() if (found := _places_in(each))), [])
    limits = [each.default for each in call.parameters if each.name == "limit" and each.default is not REQUIRED]
    most = given.get("limit") or next(iter(limits), None)
    # A note counts what was left off; a list that is as long as it may be has perhaps ended there, and the next page is
    # empty.
    if not places or not ("note" in whole or whole.get("left_off") or (most and len(places) >= int(most))):
        return None
    if name == "beyond":
        return places[-1]
    # The newest may stand first or last.
    ids = [int(each) for each in places]
    return min(ids) if name == "before" else max(ids)


def _places_in(value: object) -> list[int | str]:
    """List what the entries of a list are known by; nothing if it is no list of such entries."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return []
    for name in _NAMES:
        found = [each[name] for each in value if isinstance(each.get(name), int | str)]
        if found and len(found) == len(value):
            return found
    return []
