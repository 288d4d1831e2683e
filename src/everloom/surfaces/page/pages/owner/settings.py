"""Settings: every one with its value, where that came from and what it means. Read-only; secrets are never shown."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from everloom.secrets import masked
from everloom.store import redact
from everloom.surfaces.page.paths import look
from everloom.surfaces.page.visit import Visit


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting as the page shows it."""

    name: str
    value: str
    source: str
    meaning: str


def settings(visit: Visit) -> Response:
    """Show every setting by section."""
    visit.must_own()
    sections: dict[str, list[ShownSetting]] = {}
    for each in visit.entrance.origins:
        section, _, name = each.name.partition(".")
        shown = ShownSetting(name, _written(each.value), each.source, each.meaning)
        sections.setdefault(section, []).append(shown)
    return visit.page("settings.html", title="Settings", sections=sections)


def _written(value: object) -> str:
    """Write a value without a password that an address may hold, or anything else that looks like a secret."""
    if value is None or value in ((), ""):
        return ""
    if isinstance(value, tuple):
        return ", ".join(_written(each) for each in value)
    return masked(redact(value)) if isinstance(value, str) else str(value)


PATHS = (look("/settings", settings),)
