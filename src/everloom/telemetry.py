"""OpenTelemetry: every call of a verb as a span and a measured duration, by the conventions for memories of GenAI.

Loaded only where `telemetry.enabled` is set. Says which operation was called in which workspace, how long it took, how
many records it gave and why it failed; texts of the memory only where `telemetry.content` is set. Reports to the
providers of the program that it runs in, or to its own, which OpenTelemetry's variables configure. Refuses to know what
a verb does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import signature
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from everloom import __version__
from everloom.errors import EverloomError, Rejected, meaning_of
from everloom.kernel.verbs import Verb, measure_calls
from everloom.kernel.workspaces import WorkspaceInfo, Workspaces
from everloom.secrets import masked

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import Span, TracerProvider

    from everloom.store import Store

_PROVIDER = "everloom"
# What the words of a verb's name tell about what it does to records, the first that is known; a verb that writes and
# has none of them may do either.
_CREATES = frozenset("add append create episode procedure remember schedule store".split())
_UPDATES = frozenset(
    "approve correct describe lift mark merge pin relate remove restore reviewed set unpin update".split()
)
_DELETES = frozenset("cancel delete forget reject".split())
# Verbs about work and workspaces as a whole touch no record.
_ELSEWHERE = frozenset({"everloom.wiring.administration", "everloom.wiring.jobs"})
# Parameters that hold what is looked for, and the one record that is asked for or changed.
_QUERIES = ("query", "cue", "topic_or_context", "question_or_subject_name")
_IDS = ("id", "item_id", "observation_id", "understanding_id", "memory_id", "node_id")
# Collectors cut longer values, or refuse them.
_LONGEST = 32_000
# How long the end of a program waits for a collector that does not answer.
_FLUSH_MILLIS = 2_000
# In seconds, from an index lookup to a call that asks a model.
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)

_inside: ContextVar[bool] = ContextVar("inside", default=False)


class _Flushed(Protocol):
    """A provider of OpenTelemetry's SDK, as far as its end is concerned."""

    def force_flush(self, timeout_millis: int = ...) -> bool: ...


class Telemetry:
    """What measures the calls on some stores, and reports them to two providers of OpenTelemetry."""

    def __init__(self, traces: TracerProvider, metrics: MeterProvider, own: Sequence[_Flushed] = ()) -> None:
        self._tracer = traces.get_tracer(_PROVIDER, __version__)
        self._duration = metrics.get_meter(_PROVIDER, __version__).create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="How long an operation of the memory took.",
            explicit_bucket_boundaries_advisory=_BOUNDS,
        )
        self._own = own
        self._stores: WeakSet[Store] = WeakSet()
        self._telling: WeakSet[Store] = WeakSet()

    def add(self, store: Store, *, with_content: bool) -> None:
        """Measure the calls on a store, too."""
        self._stores.add(store)
        if with_content:
            self._telling.add(store)

    def end(self, store: Store) -> None:
        """Measure a store no more; what was measured is sent, if somebody takes it within seconds."""
        with _lock:
            self._stores.discard(store)
            self._telling.discard(store)
            if not self._stores:
                measure_calls(None)
        _flush(self._own)

    def takes(self, owner: Any) -> bool:
        """Return whether a call is one of a store that is measured, and no part of another call."""
        return not _inside.get() and _store_of(owner) in self._stores

    def measure(
        self, verb: Verb, owner: Any, args: tuple[Any, ...], named: Mapping[str, Any], act: Callable[..., Any]
    ) -> Any:
        """Carry out a call in a span of its own, and measure how long it took."""
        token = _inside.set(True)
        try:
            operation = operation_of(verb, owner)
            if operation is None:
                return act(owner, *args, **named)
            return self._span(operation, verb, owner, lambda: act(owner, *args, **named), _given(verb, args, named))
        finally:
            _inside.reset(token)

    def _span(self, operation: str, verb: Verb, owner: Any, act: Callable[[], Any], given: Mapping[str, Any]) -> Any:
        labels = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": _PROVIDER,
            "everloom.verb": f"{_faculty_of(verb)}.{verb.name}",
        }
        is_telling = _store_of(owner) in self._telling
        began = time.perf_counter()
        with self._tracer.start_as_current_span(
            f"{operation} {labels['everloom.verb']}",
            attributes={**labels, **_asked(owner, operation, given, is_telling=is_telling)},
            # Its message may hold names and texts.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                value = act()
                span.set_attributes(_found(value, given, is_telling=is_telling))
            except BaseException as error:
                labels["error.type"] = _failure(span, error)
                raise
            finally:
                self._duration.record(time.perf_counter() - began, labels)
        return value


_lock = Lock()
_current: Telemetry | None = None


def begin(store: Store, *, with_content: bool) -> Telemetry:
    """Measure the calls on a store from now on."""
    global _current  # noqa: PLW0603  OpenTelemetry's providers are one for the process, too
    with _lock:
        if _current is None:
            _current = Telemetry(*_providers())
        _current.add(store, with_content=with_content)
        measure_calls(_current)
        return _current


def operation_of(verb: Verb, owner: Any) -> str | None:
    """Return the convention's name for what a verb does; None if it touches no record."""
    if isinstance(owner, Workspaces):
        return "create_memory_store" if verb.name == "create" else "delete_memory_store"
    if verb.method.__module__ in _ELSEWHERE:
        return None
    if not verb.effect.writes:
        return "search_memory"
    kinds = {"create_memory": _CREATES, "update_memory": _UPDATES, "delete_memory": _DELETES}
    known = (kind for word in verb.name.split("_") for kind, words in kinds.items() if word in words)
    return next(known, "upsert_memory")


def _providers() -> tuple[TracerProvider, MeterProvider, Sequence[_Flushed]]:
    """Return the providers of the program, or make some that send to a collector."""
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415  an extra
    except ImportError as error:
        raise _missing(error) from error
    # What the API hands out before anybody has set a provider is named so; it has no other way to tell.
    if "Proxy" not in type(trace.get_tracer_provider()).__name__:
        return trace.get_tracer_provider(), metrics.get_meter_provider(), ()
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk import metrics as metering  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise _missing(error) from error
    resource = named_resource()
    # Who closes a loom sends what it measured; waiting once more when the process ends would take longer still.
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    readers = [PeriodicExportingMetricReader(OTLPMetricExporter())]
    measures = metering.MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    # A collector that is down is told once for each batch, not once for each attempt.
    logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)
    # For all of the process: the MCP SDK reports its requests, in which our calls are then seen.
    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(measures)
    return traces, measures, (traces, measures)


def named_resource() -> Resource:
    """Describe this program to a collector: by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, else by its own name."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  an extra

    own, found = Resource({"service.name": _PROVIDER, "service.version": __version__}), Resource.create()
    is_named = not str(found.attributes["service.name"]).startswith("unknown_service")
    return own.merge(found) if is_named else found.merge(own)


def _missing(error: ImportError) -> Rejected:
    hint = "install it with: pip install 'everloom[otel]', or set telemetry.enabled to false"
    return Rejected(f"telemetry needs a package that is not installed: {error.name}", hint=hint)


def _flush(own: Sequence[_Flushed]) -> None:
    """Send what was measured; whoever ends waits a moment for a collector that is not there, and no longer."""
    # In threads that the end of the process does not wait for: an exporter goes on trying for ten seconds and more.
    threads = [Thread(target=each.force_flush, args=(_FLUSH_MILLIS,), name="flush", daemon=True) for each in own]
    for thread in threads:
        thread.start()
    until = time.monotonic() + _FLUSH_MILLIS / 1_000
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _store_of(owner: Any) -> Any:
    return owner.store if isinstance(owner, Workspaces) else owner.op.store


def _faculty_of(verb: Verb) -> str:
    """Return the part of the package that a verb belongs to: semantic, episodic, graph, mind, kernel, …"""
    return verb.method.__module__.split(".")[1]


def _given(verb: Verb, args: tuple[Any, ...], named: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**dict(zip(_names_of(verb.method), args, strict=False)), **named}


@cache
def _names_of(method: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(method).parameters)[1:]


def _asked(owner: Any, operation: str, given: Mapping[str, Any], *, is_telling: bool) -> dict[str, Any]:
    """Describe where a call goes and, if texts may be told, what it looks for."""
    known: dict[str, Any] = {}
    if not isinstance(owner, Workspaces):
        known["gen_ai.memory.store.id"] = str(owner.op.workspace.id)
        if owner.op.session is not None:
            known["gen_ai.conversation.id"] = owner.op.session
    wanted = next((given[name] for name in _QUERIES if given.get(name)), None)
    if is_telling and operation == "search_memory" and wanted is not None:
        known["gen_ai.memory.query.text"] = _text(wanted)
    return known


def _found(value: Any, given: Mapping[str, Any], *, is_telling: bool) -> dict[str, Any]:
    """Describe what a call gave: the record, or how many; if texts may be told, the answer itself."""
    if isinstance(value, WorkspaceInfo):
        return {"gen_ai.memory.store.id": str(value.id)}
    known: dict[str, Any] = {}
    one = next((given[name] for name in _IDS if name in given), getattr(value, "id", None))
    if isinstance(one, int) and not isinstance(one, bool):
        known["gen_ai.memory.record.id"] = str(one)
    known["gen_ai.memory.record.count"] = sum(1 for _ in _records_in(value))
    if is_telling and value is not None:
        known["gen_ai.memory.records"] = _text(value)
    return known


def _records_in(value: Any) -> Iterator[Any]:
    """List the records of an answer: those of its lists, else the answer itself if it is one."""
    if isinstance(value, list | tuple):
        yield from value
        return
    lists = [getattr(value, each.name) for each in fields(value)] if is_dataclass(value) else []
    held = [each for some in lists if isinstance(some, list | tuple) for each in some if hasattr(each, "id")]
    yield from held
    if not held and isinstance(getattr(value, "id", None), int):
        yield value


def _text(value: Any) -> str:
    """Write what a call was given or gave, without secrets and bounded."""
    from everloom.kernel.answer.encode import written  # noqa: PLC0415  only where texts may be told

    return masked(value if isinstance(value, str) else written(value, 4))[:_LONGEST]


def _failure(span: Span, error: BaseException) -> str:
    """Mark a call as failed, by the code of its error; never with its message."""
    from opentelemetry.trace import StatusCode  # noqa: PLC0415  an extra

    code = meaning_of(error).mcp_code if isinstance(error, EverloomError) else type(error).__name__
    span.set_attribute("error.type", code)
    span.set_status(StatusCode.ERROR, code)
    return code
