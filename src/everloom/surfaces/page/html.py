"""Templates, and how stored text gets into a page: escaped, cleaned, or rendered from Markdown and sanitised.

Stored text is data and may come from strangers. Whatever a template writes is escaped; Markdown loses everything that
could run, load or hide. Refuses to know any page.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import nh3
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from everloom.glyphs import without_hidden

# A page shows so much of a text at once; the rest is one click away. A browser lays out more only slowly.
LONGEST_SHOWN = 20_000
# What no screen should get: control characters and halves of surrogate pairs, beside marks that turn or hide text.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_TAGS = set(
    "a abbr b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li mark ol p pre q s small span strong"
    " sub sup table tbody td th thead tr u ul".split()
)
_ATTRIBUTES = {"a": {"href", "title"}, "th": {"align"}, "td": {"align"}, "ol": {"start"}}
# Neither `javascript:` nor pictures and files of others: nothing is fetched from elsewhere by looking.
_SCHEMES = {"http", "https", "mailto"}
# Headings of a stored text stand below those of the page.
_HEADING = re.compile(r"<(/?)h([1-6])>")


@cache
def templates() -> Environment:
    """Make the environment that all pages share."""
    made = Environment(
        loader=PackageLoader("everloom.surfaces.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"clean": clean, "cut": cut, "prose": prose, "number": number, "share": share, "query": urlencode}
    made.globals |= {"longest": LONGEST_SHOWN}
    return made


def clean(text: object) -> str:
    """Replace the characters of a stored text that could show another text than the one that is stored."""
    return without_hidden(_UNSHOWN.sub(_REPLACEMENT, str(text).replace("\r\n", "\n")), _REPLACEMENT)


def cut(text: object, most: int = 300) -> str:
    """Write a stored text on one line, cut where it becomes long."""
    # Long before it is folded: most of a text of a megabyte is not read at all.
    line = " ".join(clean(str(text)[: most * 4]).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def prose(text: object, most: int = LONGEST_SHOWN) -> Markup:
    """Render Markdown that somebody stored, as far as it is harmless."""
    rendered = _markdown().render(clean(str(text)[:most]))
    lowered = _HEADING.sub(lambda found: f"<{found[1]}h{min(6, int(found[2]) + 2)}>", rendered)
    safe = nh3.clean(
        lowered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )
    # Sanitised in the line above, and cleaned again: only now is every entity decoded, in attributes as well.
    return Markup(clean(safe))


def number(value: float) -> str:
    """Write a number with the separators that people read."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def share(value: float) -> str:
    """Write a value between 0 and 1 as a percentage."""
    return f"{100 * value:.0f} %"


def time_in(zone: ZoneInfo, value: datetime | date | None, form: str = "minute") -> Markup:
    """Write a time in the workspace's zone, readable for programs, too."""
    if value is None:
        return Markup("")
    if not isinstance(value, datetime):
        return _time_tag(value.isoformat(), f"{value:%a} {value.day} {value:%b %Y}")
    local = value.astimezone(zone)
    day = f"{local.day} {local:%b %Y}"
    shown = {"day": day, "minute": f"{day}, {local:%H:%M}", "clock": f"{local:%H:%M}"}[form]
    return _time_tag(local.isoformat(timespec="seconds"), shown, f"{local:%A}, {day}, {local:%H:%M:%S %Z}")


def _time_tag(machine: str, shown: str, title: str = "") -> Markup:
    return Markup('<time datetime="{}" title="{}">{}</time>').format(machine, title or shown, shown)


def attributes(**given: Any) -> Markup:
    """Write the attributes of an element; None leaves one out, an underscore stands for a hyphen."""
    told = (
        f'{name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in given.items() if value is not None
    )
    # Every value was escaped in the line above, and names come from our own code.
    return Markup(" ".join(told))
