"""Takes settings over from the `_config.json` of a directory that is imported, and says which and why not.

A setting that somebody has made here stays. An embedder is taken over only if it answers, because every search would
otherwise wait for it. Keys stay where they are; they belong in the environment.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from everloom.clock import SystemClock
from everloom.errors import EverloomError
from everloom.graph.files.beside import CONFIG, read_beside, settings_in
from everloom.models.embed import EmbeddingTask
from everloom.models.providers import make_embedder
from everloom.surfaces.cli.commands.setup.config import write_setting
from everloom.wiring.policies import access

if TYPE_CHECKING:
    from everloom.settings import Settings
    from everloom.surfaces.cli.runtime.invocation import Invocation

_MODELS = "embed.models"


def adopt_settings(invocation: Invocation, directory: Path) -> tuple[list[str], bool]:
    """Write into the settings file what a directory says and nobody has decided here.

    Returns what to tell, and whether another embedder is preferred now.
    """
    found = read_beside(directory, CONFIG)
    wanted, _ = settings_in(None if found is None else found.data)
    settings, origins = invocation.settings()
    if not wanted or settings.store.read_only:
        return [], False
    sources = {each.name: each.source for each in origins}
    told = {name: _adopted(invocation, settings, name, value, sources[name]) for name, value in wanted.items()}
    return list(told.values()), invocation.settings()[0].embed.models != settings.embed.models


def _adopted(invocation: Invocation, settings: Settings, name: str, value: str, source: str) -> str:
    """Take one setting over, or say why not."""
    how = f"`everloom config set {name} {value}` does"
    if name == _MODELS:
        value = ",".join([value, *settings.embed.models])
        how = f"`everloom config set {name} {value}` does"
    if source != "default":
        return f"{name} was not taken from its _config.json, because it is set here ({source}); {how}"
    if name == _MODELS and (reason := _why_not(settings, value.partition(",")[0])) is not None:
        return f"{name} was not taken from its _config.json, because the embedder does not answer ({reason}); {how}"
    try:
        write_setting(invocation.file, name, value)
    except (EverloomError, OSError) as error:
        return f"{name} was not taken from its _config.json ({error}); {how}"
    return f"{name} was taken from its _config.json: {value} (written to {invocation.file})"


def _why_not(settings: Settings, model: str) -> str | None:
    """Let an embedder embed a word; returns why it cannot, or None."""
    try:
        make_embedder([model], access=access(settings), clock=SystemClock()).embed(["memory"], EmbeddingTask.QUERY)
    except EverloomError as error:
        return error.message
    return None
