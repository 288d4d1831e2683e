"""How a page declares where it is: a path to look at, or a form that is sent there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

from everloom.surfaces.page.visit import Visit

# Every page of a workspace is below its id: names may hold any character, and may change.
WORKSPACE = "/w/{workspace:int}/"
SCENES = f"{WORKSPACE}scenes"
SCENE = f"{SCENES}/{{id:int}}"


@dataclass(frozen=True, slots=True)
class PagePath:
    """One path of the page, and the function that answers there."""

    path: str
    method: Literal["GET", "POST"]
    answer: Callable[[Visit], Response] | None = None
    # Answers without a thread, for as long as the browser listens.
    stream: Callable[[Visit], Awaitable[Response]] | None = None


def look(path: str, answer: Callable[[Visit], Response]) -> PagePath:
    """Declare a page to look at."""
    return PagePath(path, "GET", answer)


def form(path: str, answer: Callable[[Visit], Response]) -> PagePath:
    """Declare what a form is sent to; it answers by leading to a page."""
    return PagePath(path, "POST", answer)


def listen(path: str, stream: Callable[[Visit], Awaitable[Response]]) -> PagePath:
    """Declare a stream of events that scripts of a page listen to."""
    return PagePath(path, "GET", stream=stream)
