"""How everything looks that this server shows in a browser: the house's styles, and the colours that a person chose.

Shared by the page and by the API's reference, which know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

THEME_COOKIE = "everloom_theme"
THEMES = ("auto", "light", "dark")


def theme_of(cookies: Mapping[str, str]) -> str:
    """Return the colours that a person chose; `auto` leaves it to the browser."""
    chosen = cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else "auto"


@cache
def house_style() -> bytes:
    """Return the styles that every page begins with."""
    return (resources.files("everloom.surfaces.web") / "static" / "house.css").read_bytes()
