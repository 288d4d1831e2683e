"""Accounts for every request: its id, what it turned out to be about, one line in the log, and figures for /metrics.

The id reaches every line that is logged for a request, in whichever thread. Neither the line nor the figures hold what
was asked: a route is named by its pattern, a workspace by its number. Refuses to know what is answered.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4

from everloom.secrets import logger_of
from everloom.surfaces.web.metrics import Family, HistogramData, sample

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

log = logger_of(__name__)

REQUEST_HEADER = "x-request-id"
_HARMLESS = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
# In seconds, from a cached answer to a call that asks a model.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_NO_ROUTE = "none"
_WATCHED = frozenset({"/health", "/ready", "/metrics"})
_OK = 200


@dataclass(slots=True)
class RequestAccount:
    """One request: its id, and what is found out about it on the way; `status` is 0 until it is answered."""

    id: str
    method: str = ""
    route: str = _NO_ROUTE
    verb: str | None = None
    workspace: int | None = None
    status: int = 0
    seconds: float = 0.0


_current: ContextVar[RequestAccount | None] = ContextVar("request", default=None)


def current_request() -> RequestAccount | None:
    """Return the request that this thread or task works for, if any."""
    return _current.get()


def note_call(verb: str | None = None, workspace: int | None = None) -> None:
    """Note what the present request calls, and in which workspace."""
    if (known := _current.get()) is not None:
        known.verb = verb or known.verb
        known.workspace = workspace or known.workspace


@dataclass(slots=True)
class RequestFigures:
    """What the requests of a process amount to."""

    in_flight: int = 0
    answered: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    durations: dict[tuple[str, str], HistogramData] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def begin(self) -> None:
        """Count a request that has arrived."""
        with self.lock:
            self.in_flight += 1

    def end(self, account: RequestAccount) -> None:
        """Count a request that is over."""
        verb = account.verb or ""
        method = account.method if account.method in _METHODS else "other"
        # One that nobody answered was cut off.
        status = f"{account.status // 100}xx" if account.status else "cut"
        with self.lock:
            self.in_flight -= 1
            self.answered[account.route, verb, method, status] += 1
            took = self.durations.setdefault((account.route, verb), HistogramData(_BOUNDS))
            took.add(bisect_left(_BOUNDS, account.seconds), account.seconds)

    def families(self) -> Iterator[Family]:
        """List them for /metrics."""
        with self.lock:
            counts = dict(self.answered)
            durations = {key: each.copy() for key, each in self.durations.items()}
            in_flight = self.in_flight
        names = ("route", "verb", "method", "status")
        answered = tuple(sample(count, dict(zip(names, key, strict=True))) for key, count in sorted(counts.items()))
        yield Family("everloom_requests_total", "counter", "Requests that were answered.", answered)
        took = tuple(
            each
            for (route, verb), data in sorted(durations.items())
            for each in data.samples({"route": route, "verb": verb})
        )
        yield Family("everloom_request_seconds", "histogram", "How long requests took.", took)
        in_progress = (sample(in_flight),)
        yield Family("everloom_requests_in_flight", "gauge", "Requests that are being answered.", in_progress)


@contextmanager
def accounted(scope: Scope, figures: RequestFigures) -> Iterator[RequestAccount]:
    """Account for one request, from its arrival to its end."""
    account = RequestAccount(_id_of(scope), scope["method"])
    began = time.perf_counter()
    token = _current.set(account)
    figures.begin()
    try:
        yield account
    finally:
        account.seconds = time.perf_counter() - began
        account.route = _route_of(scope)
        figures.end(account)
        # Who watches a server asks every second.
        is_watch = account.route in _WATCHED and account.status == _OK
        log.log(logging.DEBUG if is_watch else logging.INFO, "%s %s %d", account.method, account.route, account.status)
        _current.reset(token)


@contextmanager
def traced(scope: Scope) -> Iterator[None]:
    """Go on with the trace that a caller has begun (`traceparent`), where OpenTelemetry is in use."""
    # Whoever has it switched on has loaded it when the memory was opened; nobody else pays for it.
    if "opentelemetry.sdk.trace" not in sys.modules:
        yield
        return
    from opentelemetry import context, propagate  # noqa: PLC0415  an extra

    carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    token = context.attach(propagate.extract(carried))
    try:
        yield
    finally:
        context.detach(token)


def trace_id() -> str | None:
    """Return the id of the trace that this thread or task works for, if there is one."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415  an extra

    known = trace.get_current_span().get_span_context()
    return trace.format_trace_id(known.trace_id) if known.is_valid else None


def answering(account: RequestAccount, send: Send, is_last: Callable[[], bool]) -> Send:
    """Note how a request is answered, and add its id to the answer; the last one of a connection says so."""

    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            account.status = message["status"]
            own = [(REQUEST_HEADER.encode(), account.id.encode())]
            kept = [each for each in message.get("headers", ()) if each[0].lower() != REQUEST_HEADER.encode()]
            if is_last() and not any(name.lower() == b"connection" for name, _ in kept):
                own.append((b"connection", b"close"))
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return noted


def _id_of(scope: Scope) -> str:
    """Take the id that a proxy or a client has given a request, if it is harmless, or make one."""
    given = [value for name, value in scope["headers"] if name == REQUEST_HEADER.encode()]
    is_harmless = len(given) == 1 and _HARMLESS.fullmatch(given[0]) is not None
    return given[0].decode() if is_harmless else uuid4().hex


def _route_of(scope: Scope) -> str:
    """Name a route by its pattern, which holds nothing that a caller has written."""
    return str(getattr(scope.get("route"), "path", _NO_ROUTE))
