"""What a person may have meant: the known name that is nearest to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that is most like this one, if one is."""
    from difflib import get_close_matches  # noqa: PLC0415  needed only once something was mistyped

    folded = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), list(folded), 1, 0.6)
    return folded[found[0]] if found else None


def hint_for(name: str, known: Iterable[str], otherwise: str) -> str:
    """Write a hint for a name that is not known: the nearest one, and all of them."""
    every = list(known)
    near = nearest(name, every)
    meant = f"did you mean {near}? " if near else ""
    return f"{meant}{otherwise} {', '.join(every)}"
