"""`everloom init`: write the settings file and create the store and the workspace, or name the server that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from everloom.errors import Rejected
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.completing import CLIENT_NAMES, complete_clients, complete_tools
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table
from everloom.wiring.wire.protocol import is_remote

_NEXT = [
    ("everloom doctor", "check that everything works"),
    ("everloom config", "see every setting and where it came from"),
    ("everloom search WORDS", "search the memory"),
    ("everloom completion bash", "complete commands in your shell"),
]
# More than a few places would hide the other steps; `everloom import --list` names all.
_MOST_FOUND = 4
_TRY = [
    ("everloom -w sample recall Petrel", "ask the sample workspace what it knows"),
    ("everloom -w sample consolidate --dry-run", "see what is waiting to be consolidated"),
]


@click.command(cls=Command)
@click.option("--force", is_flag=True, help="Overwrite an existing settings file.")
@click.option("--print", "only_print", is_flag=True, help="Print the settings file and do nothing else.")
@click.option(
    "--embedder",
    metavar="MODELS",
    help="Embed with these models, in order of preference: local:minilm-l6, ollama:MODEL, …",
)
@click.option(
    "--client",
    metavar="CLIENT",
    shell_complete=complete_clients,
    help="Show the entry for an AI client instead: claude-code, claude-desktop, cursor, vscode, codex, gemini, "
    "opencode, qwen or copilot.",
)
@click.option("--write", is_flag=True, help="With --client: add the entry to the client's file.")
@click.option("--remove", is_flag=True, help="With --client: take the entry out of the client's file.")
@click.option(
    "--project",
    is_flag=True,
    help="With --client: use the file of the project in this directory, to be shared with others.",
)
@click.option(
    "--instructions",
    is_flag=True,
    help="With --client: write into the project's CLAUDE.md, AGENTS.md or the like that the agent has a memory.",
)
@click.option(
    "--tools",
    metavar="TOOLS",
    shell_complete=complete_tools,
    help="With --client: offer these toolsets or tools, with commas between them.",
)
@click.option(
    "--sample", is_flag=True, help="Also create a workspace called sample with invented memories to try things on."
)
@click.option(
    "--token", metavar="TOKEN", help="With --store https://…: the server's token; - reads it from standard input."
)
def init(invocation: Invocation, client: str | None, **wanted: Any) -> Answer:
    """Write the settings file and create the store and the workspace."""
    if client is not None:
        return _connected(invocation, client, **wanted)
    for name in ("write", "remove", "project", "instructions", "tools"):
        if wanted[name]:
            raise Rejected(f"--{name} belongs to --client", hint=f"name one: {', '.join(CLIENT_NAMES)}")
    return _made(invocation, **{name: wanted[name] for name in ("force", "only_print", "embedder", "sample", "token")})


def _connected(
    invocation: Invocation, client: str, *, write: bool, remove: bool, project: bool, tools: str | None, **more: Any
) -> Answer:
    """Answer for a client; options that make a memory are refused."""
    from everloom.surfaces.cli.commands.setup.clients import ClientRequest, connect  # noqa: PLC0415  loads pydantic

    for name in ("force", "only_print", "embedder", "sample", "token"):
        if more[name]:
            flag = f"--{name.removeprefix('only_')}"
            raise Rejected(f"{flag} makes a memory, and --client connects one", hint="run `everloom init` twice")
    if tools is not None:
        from everloom.surfaces.mcp.toolsets import chosen_verbs  # noqa: PLC0415  as above

        # For its errors only: the client would show them nowhere.
        chosen_verbs(tools)
    arguments = [*arguments_of(invocation, is_shared=project), *(("--tools", tools) if tools else ())]
    return connect(
        ClientRequest(client, arguments, write=write, remove=remove, project=project, instructions=more["instructions"])
    )


def _made(
    invocation: Invocation, *, force: bool, only_print: bool, embedder: str | None, sample: bool, token: str | None
) -> Answer:
    """Write the settings file, and create the store and the workspace, or name the server that has them."""
    from everloom.settings import load  # noqa: PLC0415
    from everloom.store import without_secrets  # noqa: PLC0415
    from everloom.surfaces.cli.commands.setup.toml import template, write_text  # noqa: PLC0415  loads pydantic

    url = invocation.address
    if url and is_remote(url):
        if embedder or sample:
            hint = "leave out --embedder and --sample, or run it where the server runs"
            raise Rejected("a server has its own settings and its own store", hint=hint)
        from everloom.surfaces.cli.commands.setup.elsewhere import connect_to  # noqa: PLC0415

        return connect_to(invocation, url, token, force=force, only_print=only_print)
    if token is not None:
        raise Rejected("a token is for a server", hint="add --store https://…, or leave it out")
    path = invocation.file
    is_new = force or only_print or not path.exists()
    models = embedder and _checked_models(embedder, is_new)
    chosen = {**invocation.flags, "store.url": url and without_secrets(url), "embed.models": models}
    text = template(chosen)
    if only_print:
        return Answer({"toml": text}, [text.rstrip()])
    if is_new:
        write_text(path, text)
    # Read back from the file just written: a value that cannot be read is found now and not by the next command.
    settings, _ = load(path, invocation.flags)
    with invocation.open(settings) as loom:
        workspace = loom.workspace()
        health = loom.store.health()
        address = loom.store.address
    # In a loom of its own, under a clock of its own, after this one has been closed.
    made = None
    if sample:
        from everloom.sample import make_sample  # noqa: PLC0415  loads numpy

        made = make_sample(settings)
    steps = [*_connections(), *_NEXT]
    result = {
        "settings": {"file": str(path), "written": is_new},
        "store": {"address": address, "engine": health.engine, "schema_version": health.schema_version},
        "workspace": workspace.info,
        "next": [line for line, _ in steps],
        **({"sample": made} if made else {}),
    }
    rows = [
        ("settings", f"{path} ({'written' if is_new else 'unchanged; --force overwrites it'})"),
        ("store", f"{address} ({health.engine}, schema {health.schema_version})"),
        ("workspace", f"{workspace.name} ({workspace.info.time_zone})"),
    ]
    if made:
        state = "created" if made.made else "unchanged"
        held = f"{made.observations} observations, {made.understandings} understandings, {made.scenes} scenes, "
        held += f"{made.memories} graph memories, {made.exchanges} exchanges"
        rows.append(("sample", f"{held} ({state})"))
    remark = [_PASSWORD_REMARK] if url and is_new and chosen["store.url"] != url else []
    return Answer(result, [Table(rows), *remark, "\nNext:", Table([*(_TRY if made else ()), *steps])])


def _connections() -> list[tuple[str, str]]:
    """Say how to connect the AI clients of this machine, to keep what is said there, and to take in what was."""
    from everloom.surfaces.cli.commands.foreign.imports import importable  # noqa: PLC0415
    from everloom.surfaces.cli.commands.setup.clients import clients_here, this_machine  # noqa: PLC0415  as above

    found = [
        (f"everloom init --client {name} --write", f"connect {title}, which is on this machine")
        for name, title in clients_here(this_machine())
    ]
    found = found or [("everloom init --client NAME --write", f"connect an AI client: {', '.join(CLIENT_NAMES)}")]
    found.append(
        ("everloom hook install --client NAME", "let it begin each session with what matters, and forget none")
    )
    taken = [(f"everloom import {path}", f"take in what is there ({kind})") for kind, path in importable()]
    return [*found, *taken[:_MOST_FOUND]]


def _checked_models(embedder: str, is_new: bool) -> list[str]:
    """Read the names of embedders; one that is unknown or not installed is refused before anything is written."""
    from everloom.clock import SystemClock  # noqa: PLC0415
    from everloom.models.providers import ProviderAccess, make_embedder  # noqa: PLC0415  loads numpy

    models = [name.strip() for name in embedder.split(",") if name.strip()]
    if not is_new:
        hint = f"`everloom config set embed.models {','.join(models)}` changes it, --force overwrites the file"
        raise Rejected("there is already a settings file, which names the embedder", hint=hint)
    make_embedder(models, access=ProviderAccess(), clock=SystemClock())
    return models


def arguments_of(invocation: Invocation, *, is_shared: bool = False) -> list[str]:
    """Return the flags with which a client reaches the same memory, without any password."""
    from everloom.store import without_secrets  # noqa: PLC0415  loads the store

    if is_shared and (invocation.config or ((invocation.address or "").startswith("sqlite:"))):
        hint = "leave out --config and --store; on each machine `everloom config` says which memory it is"
        raise Rejected("a project's file goes to other machines, which have other paths", hint=hint)
    flags = {
        # Absolute: a client starts the server in a directory of its own.
        "--config": invocation.config and str(Path(invocation.config).absolute()),
        "--store": invocation.address and without_secrets(invocation.address),
        "--workspace": invocation.workspace,
        "--read-only": invocation.read_only,
    }
    return [word for flag, value in flags.items() if value for word in ((flag,) if value is True else (flag, value))]


_PASSWORD_REMARK = "The password was not written: put it into ~/.pgpass, PGPASSWORD or EVERLOOM_STORE_URL."
