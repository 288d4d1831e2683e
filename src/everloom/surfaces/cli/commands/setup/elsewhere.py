"""`everloom init --store https://…`: make a server the memory of this machine's commands.

Nothing is written before the server has answered. The token goes into a file of its own that only its owner can read:
settings files are copied, shared and put under version control.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from everloom.errors import Rejected
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.settings import Settings
    from everloom.surfaces.cli.runtime.invocation import Invocation

_NEXT = [
    ("everloom workspace show", "see the workspace that the token opens"),
    ("everloom recall WORDS", "ask what it knows"),
    ("everloom chat", "talk with the agent there, if the server has a language model"),
]
_TOKENS = "tokens"


def connect_to(invocation: Invocation, url: str, token: str | None, *, force: bool, only_print: bool) -> Answer:
    """Write the settings that make every following command use a server, once it has let us in."""
    from everloom.remote.calls import Peer  # noqa: PLC0415  a help page needs none
    from everloom.remote.tokens import keep_token, remote_token  # noqa: PLC0415
    from everloom.surfaces.cli.commands.setup.toml import write_text  # noqa: PLC0415

    address, path = Peer.at(url).url, invocation.file
    settings = _settings_of(invocation)
    given = _given(token)
    secret = given if given is not None else remote_token(settings, address)
    tokens = path.parent / _TOKENS
    keeps = given is not None
    chosen = {
        "store.url": address,
        "workspace.name": invocation.workspace,
        "store.token_file": str(tokens.absolute()) if keeps else None,
    }
    text = _written(
        path, {name: value for name, value in chosen.items() if value is not None}, force=force or only_print
    )
    if only_print:
        return Answer({"toml": text}, [text.rstrip()])
    info = _entered(address, settings, secret)
    if keeps:
        # First: settings that name a file which is not there would stop every command.
        keep_token(tokens, address, given)
    write_text(path, text)
    result = {
        "settings": {"file": str(path), "written": True},
        "store": {"address": address, "engine": "server"},
        "workspace": info,
        "token": {"file": str(tokens) if keeps else None, "kept": keeps},
        "next": [line for line, _ in _NEXT],
    }
    told = f"{tokens} (only you can read it)" if keeps else "EVERLOOM_TOKEN" if secret else "none is needed"
    rows = [
        ("settings", f"{path} (written)"),
        ("server", address),
        ("workspace", f"{info.name} ({info.time_zone})"),
        ("token", told),
    ]
    return Answer(result, [Table(rows), "\nNext:", Table(_NEXT)])


def _settings_of(invocation: Invocation) -> Settings:
    """Read the settings; a file that does not exist yet has none."""
    from everloom.settings import from_environment, from_file, validated  # noqa: PLC0415  loads pydantic

    path = invocation.file
    known = from_file(path, must_exist=True) if path.exists() else {}
    flags = {name: value for name, value in invocation.flags.items() if value is not None}
    values = {**known, **from_environment(os.environ), **flags}
    return validated(values, dict.fromkeys(values, str(path)))


def _given(token: str | None) -> str | None:
    """Read the token; from standard input, it is in no history and no list of processes."""
    if token != "-":
        return token
    found = sys.stdin.readline().strip()
    if not found:
        raise Rejected(
            "there is no token on standard input", hint="pipe it in: `everloom init --store URL --token - < FILE`"
        )
    return found


def _written(path: Path, chosen: dict[str, str], *, force: bool) -> str:
    """Write the settings: a new file, or the old one with these values changed and every other line as it was."""
    from everloom.settings import from_file  # noqa: PLC0415
    from everloom.surfaces.cli.commands.setup.toml import edited, template  # noqa: PLC0415

    if not path.exists():
        return template(chosen)
    known = from_file(path, must_exist=True)
    changed = [name for name, value in chosen.items() if known.get(name) not in (None, value)]
    if changed and not force:
        hint = "--force changes it, and leaves every other line as it is"
        raise Rejected(f"{path} already sets {', '.join(changed)}", hint=hint)
    text = path.read_text(encoding="utf-8")
    for name, value in chosen.items():
        text = edited(text, name, value)
    return text


def _entered(url: str, settings: Settings, token: str | None) -> WorkspaceInfo:
    """Ask the server which workspace this is; an address or a token that does not work is an error here and now."""
    from everloom.remote.loom import RemoteLoom  # noqa: PLC0415  loads an HTTP client

    with RemoteLoom(url, settings, token) as loom:
        # Whoever may only read creates nothing.
        return loom.workspace(must_exist=True).info
