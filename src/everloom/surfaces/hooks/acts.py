"""What is done at each event. Each first looks whether there is anything to do at all, at next to no cost."""

from __future__ import annotations

from datetime import UTC, datetime
from os.path import isabs
from typing import TYPE_CHECKING

from everloom.clock import from_seconds
from everloom.surfaces.hooks.commands import HookCommand, HookOutcome
from everloom.surfaces.hooks.events import MOST_TOKENS, HookInput
from everloom.surfaces.hooks.glance import Glance
from everloom.surfaces.hooks.record import HookRecord

if TYPE_CHECKING:
    from everloom.surfaces.hooks.places import HookPlace

_NOTHING = "nothing"


def begin_session(command: HookCommand, given: HookInput, record: HookRecord, glance: Glance) -> HookOutcome:
    """Tell a session what matters, and take in what earlier ones left."""
    if glance.is_on("transcripts", default=True):
        _take_left_over(record, glance, given.transcript)
    if glance.number("orientation_tokens", 1) == 0:
        return HookOutcome(_NOTHING, "hooks.orientation_tokens is 0")
    from everloom.surfaces.hooks.orientation import tell_memory  # noqa: PLC0415  loads numpy
    from everloom.surfaces.hooks.places import LEFT_OUT, is_left_out, opened_workspace, settings_of  # noqa: PLC0415

    now, place = datetime.now(UTC), _place(command, given)
    settings = settings_of(place, read_only=True)
    if is_left_out(place, settings):
        return HookOutcome(_NOTHING, LEFT_OUT)
    most = min(settings.hooks.orientation_tokens, MOST_TOKENS.get(given.client, settings.hooks.orientation_tokens))
    # What it is pointed to later happened before it began; a session that goes on keeps its beginning.
    if given.session and (given.source not in {"compact", "resume"} or not record.session(given.session)):
        record.keep_session(given.session, began=now.timestamp(), shown=[])
    with opened_workspace(place, settings) as workspace:
        told = tell_memory(workspace, now, most)
    if not told.text:
        return HookOutcome(_NOTHING, "the memory is empty", workspace=workspace.name)
    return HookOutcome("told", "", told.text, told.tokens, workspace.name)


def point_prompt(command: HookCommand, given: HookInput, record: HookRecord, glance: Glance) -> HookOutcome:
    """Put the memories that fit beside a prompt, if somebody switched that on."""
    if not glance.is_on("pointers", default=False):
        return HookOutcome(_NOTHING, "hooks.pointers is off")
    if given.client == "cursor":
        return HookOutcome(_NOTHING, "Cursor takes nothing along with a prompt")
    prompt = given.prompt.strip()
    if not prompt or prompt.startswith("/"):
        return HookOutcome(_NOTHING, "the prompt is a command" if prompt else "there is no prompt")
    from everloom.surfaces.hooks.places import LEFT_OUT, is_left_out, opened_workspace, settings_of  # noqa: PLC0415
    from everloom.surfaces.hooks.pointers import point  # noqa: PLC0415  loads numpy

    place = _place(command, given)
    settings = settings_of(place, read_only=True)
    if is_left_out(place, settings):
        return HookOutcome(_NOTHING, LEFT_OUT)
    known = record.session(given.session) if given.session else {}
    began = from_seconds(float(known["began"])) if known else None
    shown = [each for each in known.get("shown", []) if isinstance(each, int)]
    with opened_workspace(place, settings) as workspace:
        found = point(workspace, prompt, settings.hooks.pointer_tokens, began=began, leaving_out=frozenset(shown))
    if not found.ids:
        return HookOutcome(_NOTHING, "nothing fits the prompt", workspace=workspace.name)
    if known:
        record.keep_session(given.session, began=float(known["began"]), shown=[*shown, *found.ids])
    return HookOutcome("told", f"{len(found.ids)} memories", found.text, workspace=workspace.name)


def keep_transcript(command: HookCommand, given: HookInput, record: HookRecord, glance: Glance) -> HookOutcome:
    """Have a transcript taken in now: its session ends, or is about to lose its beginning."""
    return _take(command, given, record, glance, now=True)


def follow_transcript(command: HookCommand, given: HookInput, record: HookRecord, glance: Glance) -> HookOutcome:
    """Have a transcript taken in, unless that was done a moment ago: the session goes on."""
    return _take(command, given, record, glance, now=False)


def _take(command: HookCommand, given: HookInput, record: HookRecord, glance: Glance, *, now: bool) -> HookOutcome:
    if not glance.is_on("transcripts", default=True):
        return HookOutcome(_NOTHING, "hooks.transcripts is off")
    if not given.transcript:
        return HookOutcome(_NOTHING, "the client named no transcript")
    from everloom.surfaces.hooks.intake import is_waiting, size_of, start_intake, was_just_taken  # noqa: PLC0415

    # Whoever takes it in works in another directory.
    if not isabs(given.transcript) or not size_of(given.transcript):
        return HookOutcome(_NOTHING, "the transcript is empty or not there")
    place = _place(command, given)
    record.want(given.transcript, client=given.client, surroundings=glance.surroundings, **place._asdict())
    if not is_waiting(record, given.transcript):
        return HookOutcome(_NOTHING, "nothing new in the transcript")
    if not now and was_just_taken(record, given.transcript):
        return HookOutcome(_NOTHING, "taken in a moment ago; the rest follows later")
    start_intake(record, [given.transcript])
    return HookOutcome("started", "the transcript is being taken in")


def _take_left_over(record: HookRecord, glance: Glance, transcript: str) -> None:
    from everloom.surfaces.hooks.intake import left_over, start_intake  # noqa: PLC0415

    waiting = left_over(record, glance.surroundings, but=transcript)
    if waiting:
        start_intake(record, waiting)


def _place(command: HookCommand, given: HookInput) -> HookPlace:
    from everloom.surfaces.hooks.places import HookPlace  # noqa: PLC0415

    return HookPlace(command.config, command.store, command.workspace, given.directory)
