"""The settings file as text: written with a comment for every setting, and edited without losing any of them.

Refuses to know what a setting means. An edit that cannot be made safely is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from everloom.errors import Rejected, writing
from everloom.sections import Section
from everloom.settings import Settings, dotted
from everloom.store.files import write_whole

_HEAD = """\
# Settings of everloom. A line that begins with # shows a default; remove the # to change it.
# Environment variables (EVERLOOM_STORE_URL, ...) override this file, and command-line options override both.
# Keys of providers belong in the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY.
"""


def template(chosen: Mapping[str, object]) -> str:
    """Write a settings file that sets only the chosen values, by dotted name; the others are comments."""
    defaults = Settings()
    sections = [
        "\n".join(_section_lines(name, getattr(defaults, name), chosen))
        for name in Settings.model_fields
        if name != "secrets"
    ]
    return "\n".join([_HEAD, *(f"{section}\n" for section in sections)])


def _section_lines(name: str, section: Section, chosen: Mapping[str, object]) -> Iterator[str]:
    """Write one section: the meaning and the value of each setting."""
    yield f"# {section.__doc__}"
    yield f"[{name}]"
    for key, field in type(section).model_fields.items():
        yield f"# {field.description}"
        value = chosen.get(f"{name}.{key}")
        default = getattr(section, key)
        yield (
            f"{key} = {_literal(value)}"
            if value is not None
            else f"# {key} = {'…' if default is None else _literal(default)}"
        )


def _literal(value: object) -> str:
    """Write a value as TOML, which for these types is the same as JSON."""
    return json.dumps(value, ensure_ascii=False)


def edited(text: str, name: str, value: object) -> str:
    """Set one dotted name in a settings file; every other line stays unchanged."""
    changed = _with_line(text.splitlines(), name, _literal(value))
    wanted = {**_parsed(text), name: list(value) if isinstance(value, tuple) else value}
    # Editing by lines is a guess (a multi-line value, a table in one line); reading the result back proves it right.
    try:
        is_safe = _parsed(changed) == wanted
    except tomllib.TOMLDecodeError:
        is_safe = False
    if not is_safe:
        raise Rejected(
            f"cannot set {name} without changing other lines", hint="edit the file by hand: `everloom config path`"
        )
    return changed


def _parsed(text: str) -> dict[str, Any]:
    """Parse a settings file into dotted names."""
    return dotted(tomllib.loads(text))


def _with_line(lines: list[str], name: str, value: str) -> str:
    """Write `key = value` in place of the old value, of its commented default, or at the start of the section."""
    section, key = name.split(".", 1)
    header = re.compile(rf"\s*\[{section}\]\s*(#.*)?$")
    start = next((number for number, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        return "\n".join([*lines, *([""] if lines else []), f"[{section}]", f"{key} = {value}", ""])
    later = range(start + 1, len(lines))
    end = next((number for number in later if re.match(r"\s*\[", lines[number])), len(lines))
    for pattern in (rf"\s*{key}\s*=", rf"\s*#\s*{key}\s*="):
        at = next((number for number in range(start + 1, end) if re.match(pattern, lines[number])), None)
        if at is not None:
            remark = re.search(r"\s+#[^\"']*$", lines[at])
            lines[at] = f"{key} = {value}{remark[0] if remark else ''}"
            break
    else:
        lines.insert(start + 1, f"{key} = {value}")
    return "\n".join([*lines, ""])


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically, with its mode; a link stays a link, and its target is replaced."""
    target = path.resolve()
    with writing(path, after="nothing was changed"):
        target.parent.mkdir(parents=True, exist_ok=True)
    # As bytes: a file that is changed keeps its own line ends on every system.
    write_whole(target, text.encode(), keeps_mode=True)
