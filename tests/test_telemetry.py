"""Calls as OpenTelemetry sees them: with its real SDK, and a collector that is reached over real HTTP."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from anyio.to_thread import run_sync
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from starlette.types import Message, Receive, Scope, Send

from everloom import __version__
from everloom.errors import NotFound, Rejected
from everloom.kernel.verbs import measure_calls
from everloom.loom import Loom, Workspace
from everloom.semantic import Semantic
from everloom.surfaces.web.accounting import trace_id
from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.gate import Gate
from everloom.telemetry import Telemetry, named_resource, operation_of
from everloom.wiring.faculties import FACULTIES
from everloom.wiring.items import Items
from tests.surfaces.mcp.ground import PROGRAM, ROOT, environment

SECRET = "sk-ant-api03-" + "a1B2" * 20
OPERATIONS = {"search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"}


class Seen:
    """What OpenTelemetry was told, in memory."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider(shutdown_on_exit=False)
        self.traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.metrics = MeterProvider([self.reader], shutdown_on_exit=False)

    def taken(self) -> list[ReadableSpan]:
        """Return the spans since the last time."""
        spans = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return spans

    def one(self) -> dict[str, Any]:
        """Return the attributes of the only span since the last time."""
        (span,) = self.taken()
        return dict(span.attributes or {})

    def durations(self) -> list[Any]:
        """Return the points of the one metric."""
        data = self.reader.get_metrics_data()
        assert data is not None
        (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
        assert (metric.name, metric.unit) == ("gen_ai.client.operation.duration", "s")
        return list(metric.data.data_points)


@contextmanager
def measuring(loom: Loom, *, with_content: bool = False) -> Iterator[Seen]:
    """Measure a loom for a while."""
    seen = Seen()
    telemetry = Telemetry(seen.traces, seen.metrics)
    telemetry.add(loom.store, with_content=with_content)
    measure_calls(telemetry)
    try:
        yield seen
    finally:
        telemetry.end(loom.store)


def calls_of(workspace: Workspace) -> list[tuple[str, str, Callable[[], Any]]]:
    """List calls of all kinds: their operation, their verb, and how to make them, in order."""
    semantic, known = workspace.semantic, workspace.loom.workspaces
    return [
        ("create_memory", "semantic.remember", lambda: semantic.remember(["James"], "James sails.")),
        ("search_memory", "semantic.recall", lambda: semantic.recall("Who sails?")),
        ("search_memory", "semantic.orient", semantic.orient),
        ("update_memory", "semantic.set_subject_summary", lambda: semantic.set_subject_summary("James", "A sailor.")),
        ("update_memory", "semantic.mark_reviewed", lambda: semantic.mark_reviewed(["James"])),
        ("search_memory", "workspace.find", lambda: workspace.search("sails")),
        ("search_memory", "wiring.search", lambda: Items(workspace).search("sails")),
        ("delete_memory", "kernel.forget", lambda: workspace.forget(search="sails")),
        ("create_memory_store", "kernel.create", lambda: known.create("another")),
        ("delete_memory_store", "kernel.remove", lambda: known.remove("another")),
    ]


@pytest.mark.promise("telemetry.conventions")
def test_every_call_is_one_span_by_the_conventions_and_none_holds_a_text(loom: Loom) -> None:
    workspace = loom.workspace("default", session="talk 1")
    with measuring(loom) as seen:
        for operation, verb, call in calls_of(workspace):
            call()
            (span,) = seen.taken()
            told = dict(span.attributes or {})
            assert (told["gen_ai.operation.name"], told["everloom.verb"]) == (operation, verb)
            assert span.name == f"{operation} {verb}"
            assert told["gen_ai.provider.name"] == "everloom"
            assert span.status.status_code is StatusCode.UNSET
            if not operation.endswith("_store"):
                assert told["gen_ai.memory.store.id"] == str(workspace.info.id)
                assert told["gen_ai.conversation.id"] == "talk 1"
            assert "sail" not in str(told).lower()
            assert not told.keys() & {"gen_ai.memory.query.text", "gen_ai.memory.records"}
        points = seen.durations()
    assert {point.attributes["everloom.verb"] for point in points} == {verb for _, verb, _ in calls_of(workspace)}
    assert all(point.count == 1 and 0 < point.sum < 600 for point in points)


@pytest.mark.promise("telemetry.conventions")
def test_records_are_counted_and_named(loom: Loom) -> None:
    workspace = loom.workspace("default")
    with measuring(loom) as seen:
        made = workspace.semantic.remember(["James"], "James sails.")
        assert seen.one()["gen_ai.memory.record.id"] == str(made.id)
        workspace.semantic.remember(["Audrey"], "Audrey sails, too.")
        seen.taken()
        hits = workspace.search("sails")
        assert seen.one()["gen_ai.memory.record.count"] == len(hits) == 2
        workspace.show(made.id)
        told = seen.one()
    assert (told["gen_ai.memory.record.id"], told["gen_ai.memory.record.count"]) == (str(made.id), 1)


@pytest.mark.promise("telemetry.conventions")
def test_a_failure_is_told_by_its_code_and_never_by_its_message(loom: Loom) -> None:
    workspace = loom.workspace("default")
    with measuring(loom) as seen:
        with pytest.raises(NotFound):
            workspace.semantic.get_subjects(["Very Private"])
        with pytest.raises(Rejected):
            workspace.semantic.remember(["James"], "x" * 300_000)
        spans = seen.taken()
        codes = {point.attributes.get("error.type") for point in seen.durations()}
    assert [dict(span.attributes or {})["error.type"] for span in spans] == ["not_found", "rejected"]
    assert codes == {"not_found", "rejected"}
    for span in spans:
        assert (span.status.status_code, span.events) == (StatusCode.ERROR, ())
        assert "Private" not in span.to_json()


@pytest.mark.promise("telemetry.content")
def test_texts_are_told_only_where_that_is_set_and_secrets_never(loom: Loom) -> None:
    workspace = loom.workspace("default")
    workspace.semantic.remember(["James"], "James sails.")
    with measuring(loom, with_content=True) as seen:
        workspace.semantic.recall(f"Who sails? {SECRET}")
        told = seen.one()
        workspace.semantic.remember(["James"], "James swims.")
        written = seen.one()
    assert told["gen_ai.memory.query.text"].startswith("Who sails? ")
    assert "James sails." in told["gen_ai.memory.records"]
    assert json.loads(told["gen_ai.memory.records"])
    assert "gen_ai.memory.query.text" not in written
    assert SECRET not in str(told)


def test_every_verb_has_an_operation_of_the_convention() -> None:
    found = {
        f"{faculty.name}.{each.name}": operation_of(each, None)
        for faculty in FACULTIES.values()
        for each in faculty.verbs
    }
    assert {name for name, operation in found.items() if operation is None} == {
        f"{name}.{each.name}" for name in ("jobs", "workspace") for each in FACULTIES[name].verbs
    }
    assert set(found.values()) - {None} == OPERATIONS
    assert found["graph.edge_delete"] == "delete_memory"


@pytest.mark.promise("telemetry.off")
def test_other_looms_of_the_process_are_not_measured(loom: Loom, tmp_path: Path) -> None:
    with measuring(loom) as seen, Loom(f"sqlite:///{tmp_path}/other.db", loom.settings, loom.clock) as other:
        other.workspace("default").semantic.orient()
        assert seen.taken() == []


@pytest.mark.promise("telemetry.off")
def test_switched_off_it_costs_four_instructions_a_call_and_loads_nothing(loom: Loom, tmp_path: Path) -> None:
    semantic = loom.workspace("default").semantic
    semantic.get_stats()
    call = Semantic.get_stats
    steps: dict[int, int] = {}

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code is not call.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps[frame.f_lineno] = steps.get(frame.f_lineno, 0) + 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        semantic.get_stats()
    finally:
        sys.settrace(before)
    source = (ROOT / "src/everloom/kernel/verbs.py").read_text(encoding="utf-8").splitlines()
    (asked,) = [count for line, count in steps.items() if "_measurer) is not None" in source[line - 1]]
    assert asked <= 4
    code = """
import sys
from everloom import open_loom
with open_loom(sys.argv[1]) as loom:
    loom.workspace("default").semantic.orient()
print(*[name for name in sys.modules if name.startswith("opentelemetry") or name == "everloom.telemetry"])
"""
    command = [sys.executable, "-c", code, f"sqlite:///{tmp_path}/own.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(tmp_path))
    assert done.stdout.strip() == ""


class Collector:
    """A collector of OpenTelemetry, as far as OTLP over HTTP goes."""

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, Any]] = {}
        self.service: set[str] = set()
        self.metrics: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        """Take one batch."""
        if path == "/v1/traces":
            for batch in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.service |= {
                    each.value.string_value for each in batch.resource.attributes if each.key == "service.name"
                }
                for span in (span for scope in batch.scope_spans for span in scope.spans):
                    self.spans[span.name] = {"id": span.span_id, "parent": span.parent_span_id}
        elif path == "/v1/metrics":
            for measured in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {each.name for scope in measured.scope_metrics for each in scope.metrics}


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    """Lend a collector and its address."""
    collector = Collector()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.take(self.path, gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.promise("telemetry.collector")
def test_a_command_reports_to_the_collector_of_the_standard_variables(tmp_path: Path) -> None:
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "orient", "arguments": {}}},
    ]  # fmt: skip
    command = [*PROGRAM, "mcp", "--store", f"sqlite:///{tmp_path}/loom.db"]
    with collecting() as (collector, url):
        environ = environment(
            tmp_path, EVERLOOM_TELEMETRY_ENABLED="true", OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SERVICE_NAME="mine"
        )
        said = "\n".join(map(json.dumps, requests)) + "\n"
        done = subprocess.run(command, input=said, env=environ, capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr == ""
    assert collector.service == {"mine"}
    assert "gen_ai.client.operation.duration" in collector.metrics
    assert "search_memory semantic.orient" in collector.spans, collector.spans


@pytest.mark.promise("telemetry.collector")
@pytest.mark.parametrize(
    ("variable", "value", "service"),
    [
        ("OTEL_SERVICE_NAME", "mine", "mine"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=theirs,team=a", "theirs"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=a", "everloom"),
    ],
)
def test_the_program_has_its_own_name_unless_it_is_given_another(
    variable: str, value: str, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    told = named_resource().attributes
    assert (told["service.name"], told["service.version"]) == (service, __version__)
    assert told.get("team") == ("a" if "team" in value else None)


@pytest.mark.promise("telemetry.collector")
def test_a_collector_that_is_not_there_delays_the_end_by_two_seconds_at_most(loom: Loom) -> None:
    traces = TracerProvider(shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter("http://127.0.0.1:9/v1/traces")))
    telemetry = Telemetry(traces, MeterProvider(shutdown_on_exit=False), own=[traces])
    telemetry.add(loom.store, with_content=False)
    measure_calls(telemetry)
    loom.workspace("default").semantic.orient()
    began = time.monotonic()
    telemetry.end(loom.store)
    # Without a bound, it is ten: the exporter's own patience.
    assert time.monotonic() - began < 6


@pytest.mark.promise("telemetry.collector")
def test_a_program_with_providers_of_its_own_keeps_them_and_needs_no_exporter(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["opentelemetry.exporter"] = None
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
own = TracerProvider()
own.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.name + "\\n")))
trace.set_tracer_provider(own)
from everloom import open_loom
from everloom.settings import Settings
settings = Settings.model_validate({"telemetry": {"enabled": True}})
with open_loom(sys.argv[1], settings=settings) as loom, open_loom(sys.argv[1], settings=settings) as second:
    semantic = loom.workspace("default").semantic
    semantic.orient()
    second.close()
    semantic.recall("Who?")
assert trace.get_tracer_provider() is own
"""
    command = [sys.executable, "-c", code, f"sqlite:///{tmp_path}/loom.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(tmp_path))
    assert done.stderr == ""
    assert done.stdout.split("\n")[1:3] == ["search_memory semantic.orient", "search_memory semantic.recall"]


@pytest.mark.promise("telemetry.collector")
def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["opentelemetry.sdk"] = None
from everloom import open_loom
from everloom.settings import Settings
open_loom(sys.argv[1], settings=Settings.model_validate({"telemetry": {"enabled": True}}))
"""
    command = [sys.executable, "-c", code, f"sqlite:///{tmp_path}/loom.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(tmp_path))
    assert done.returncode == 1
    assert "pip install 'everloom[otel]'" in done.stderr


@pytest.mark.anyio
@pytest.mark.promise("telemetry.traces")
async def test_a_call_over_http_goes_on_with_the_trace_of_its_caller(loom: Loom) -> None:
    workspace = loom.workspace("default")
    ids: list[str | None] = []

    async def remember(_scope: Scope, _receive: Receive, send: Send) -> None:
        # In a thread, as every call of a verb is.
        await run_sync(lambda: workspace.semantic.remember(["James"], f"James sails {len(ids)} times."))
        ids.append(trace_id())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Message) -> None:
        pass

    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    with measuring(loom) as seen:
        for told in ([(b"traceparent", f"00-{trace}-{parent}-01".encode())], []):
            headers = [(b"host", b"localhost"), *told]
            scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "client": ("127.0.0.1", 1)}
            await Gate(remember, Rules(), lambda _: None)(scope, receive, send)
        first, second = seen.taken()
    assert first.parent is not None
    assert (f"{first.parent.trace_id:032x}", f"{first.parent.span_id:016x}") == (trace, parent)
    assert second.parent is None
    assert ids == [trace, None]
