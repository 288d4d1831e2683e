"""Whatever stands at the other end: every failure has a name and a hint, and nothing is sent twice that must not be."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import ssl
import subprocess
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest

from everloom import open_loom
from everloom.errors import (
    MEANING,
    Conflict,
    EverloomError,
    Forbidden,
    MalformedReply,
    ProviderBusy,
    ProviderRefused,
    Rejected,
    SchemaMismatch,
    StoreBusy,
    StoreConflict,
    StoreError,
    StoreReplaced,
)
from everloom.remote import RemoteWorkspace, sending
from everloom.semantic import NewObservation
from everloom.settings import Settings
from everloom.surfaces.api.problems import problem_of
from tests.remote.ground import INFO, SILENCE, Scripted, reply, whole


def opened(server: Scripted, **settings: object) -> RemoteWorkspace:
    return open_loom(server.url, token=None, settings=Settings.model_validate(settings)).workspace("james")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up sooner than in earnest."""
    monkeypatch.setattr(sending, "_PATIENCE", 2.0)
    monkeypatch.setattr(sending, "_FIRST_PATIENCE", 0.3)


HTML = reply("200 OK", b"<html>Welcome!</html>", content_type="text/html")
ODD = {
    "a page": (HTML, StoreError, "no everloom server"),
    "another program": (reply("200 OK", b'{"result": 1}'), StoreError, "no everloom server"),
    "a page that is missing": (reply("404 Not Found", b"<html>", content_type="text/html"), StoreError, "no everloom"),
    "half an answer": (
        reply("200 OK", b'{"result": {"id":', x_everloom_version="9"),
        StoreError,
        "not its JSON",
    ),
    "another shape": (
        reply("200 OK", b'{"result": {"hits": 5}}', x_everloom_version="9.9"),
        StoreError,
        "everloom 9.9, this is",
    ),
    "a redirect": (
        reply("307 Temporary Redirect", b"", location="http://127.0.0.2:1/elsewhere"),
        StoreError,
        "sends us to http://127.0.0.2:1/elsewhere",
    ),
    "no token": (reply("401 Unauthorized", b'{"error": "a bearer token is required"}'), Forbidden, "bearer token"),
    "no token, as a problem": (
        reply(
            "401 Unauthorized",
            b'{"type": "about:blank", "code": "unauthorized", "detail": "this token is wrong", "error": "x"}',
            content_type="application/problem+json",
        ),
        Forbidden,
        "this token is wrong",
    ),
    "another name": (reply("421 Misdirected", b'{"error": "not that name"}'), Forbidden, "not that name"),
    "too large": (reply("413 Too Large", b'{"error": "at most 4 bytes"}'), Rejected, "at most 4 bytes"),
    "an accident": (
        reply(
            "500 Oops",
            b'{"type": "about:blank", "code": "internal_error", "detail": "see the log"}',
            content_type="application/problem+json",
        ),
        StoreError,
        "see the log",
    ),
    "no such call": (
        reply(
            "404 Not Found",
            b'{"type": "about:blank", "code": "not_found", "detail": "nothing"}',
            content_type="application/problem+json",
            x_everloom_version="0.0.1",
        ),
        StoreError,
        "has no items.search: it is everloom 0.0.1",
    ),
    "an error of its own": (reply("500 Oops", b"<html>", content_type="text/html"), StoreError, "HTTP 500"),
    "a bomb": (
        reply("200 OK", gzip.compress(b" " * 70 * 2**20), content_encoding="gzip"),
        StoreError,
        "more than",
    ),
    "a deep answer": (reply("200 OK", b"[" * 100_000, x_everloom_version="1"), StoreError, "not its JSON"),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n", StoreBusy, "the connection broke"),
}


@pytest.mark.promise("remote.errors")
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_has_a_name_and_a_hint(odd: str) -> None:
    answer, kind, said = ODD[odd]
    with Scripted(INFO, answer) as server:
        place = opened(server)
        with pytest.raises(kind, match=said) as caught:
            place.find("who sails?")
    assert type(caught.value) is kind
    assert caught.value.hint or odd in {"an accident", "another name"}


@pytest.mark.promise("remote.errors")
def test_an_error_comes_back_as_the_class_that_was_raised() -> None:
    for kind, meaning in MEANING.items():
        raised = kind("it went wrong", hint="do this")
        if isinstance(raised, ProviderBusy):
            raised.retry_after = 7.5
        if isinstance(raised, Conflict):
            raised.current = {"version": 3}
        told = problem_of(raised)
        body = bytes(told.body)
        answer = reply(f"{meaning.http_status} x", body, content_type="application/problem+json", retry_after="60")
        with Scripted(INFO, answer) as server, pytest.raises(EverloomError) as caught:
            opened(server).show(1)
        error = caught.value
        assert type(error) is kind
        if not issubclass(kind, StoreError | StoreConflict):  # which strangers are told little about
            assert (error.message, error.hint) == ("it went wrong", "do this")
        if isinstance(error, ProviderBusy):
            assert error.retry_after == 7.5
        if isinstance(error, Conflict) and not isinstance(error, StoreConflict):
            assert error.current == {"version": 3}


@pytest.mark.promise("remote.retries-are-safe")
def test_what_reads_is_asked_again_and_what_has_a_key_keeps_it() -> None:
    marked = whole({"id": 1})
    with Scripted(INFO, None, None, whole([])) as server:
        assert opened(server).jobs() == []
        assert len(server.requests) == 4
    with Scripted(INFO, None, reply("503 Busy", b'{"error": "restarting"}'), marked) as server:
        place = opened(server)
        with pytest.raises(StoreError, match="another shape"):
            place.semantic.mark_useful(1)
        keys = {json.loads(each.partition(b"\r\n\r\n")[2])["idempotency_key"] for each in server.requests[1:]}
        assert (len(server.requests), len(keys)) == (4, 1)
        with pytest.raises(StoreError):
            place.semantic.mark_useful(1)
        own = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])["idempotency_key"]
        assert own not in keys, "every call has a key of its own"


@pytest.mark.promise("remote.retries-are-safe")
def test_every_write_is_sent_again_under_its_key() -> None:
    broken = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"
    for answer in (None, reply("503 Busy", b'{"error": "restarting"}'), broken):
        with Scripted(INFO, answer, whole(None)) as server:
            opened(server).pin(1)
            bodies = [json.loads(each.partition(b"\r\n\r\n")[2]) for each in server.requests[1:]]
            assert len(bodies) == 2
            assert bodies[0] == bodies[1]
            assert bodies[0]["idempotency_key"]
    busy = reply("429 Too Many", b'{"error": "too many requests"}', retry_after="1")
    with Scripted(INFO, busy, whole(None)) as server:
        began = time.monotonic()
        opened(server).pin(1)
        assert len(server.requests) == 3
        assert time.monotonic() - began >= 1.0


@pytest.mark.promise("remote.retries-are-safe")
@pytest.mark.parametrize("kind", [ProviderBusy, MalformedReply, ProviderRefused, StoreReplaced, SchemaMismatch])
def test_what_only_costs_or_cannot_help_is_not_asked_again(kind: type[EverloomError]) -> None:
    told = problem_of(kind("not now"))
    answer = reply(f"{told.status_code} x", bytes(told.body), content_type="application/problem+json")
    with Scripted(INFO, answer) as server:
        with pytest.raises(kind):
            opened(server).semantic.recall("James")
        assert len(server.requests) == 2
    with Scripted(INFO, reply("504 x", b'{"error": "the request took too long"}')) as server:
        with pytest.raises(StoreBusy, match="took too long"):
            opened(server).semantic.recall("James")
        assert len(server.requests) == 2


def test_an_address_may_have_a_path_and_be_copied_from_the_reference() -> None:
    for path, asked in (("/memory/", b"/memory/api/v1/"), ("/api/v1", b"/api/v1/"), ("/m/api/v1/", b"/m/api/v1/")):
        with Scripted(INFO) as server:
            open_loom(server.url + path, token=None).workspace("james")
            assert server.requests[0].startswith(b"POST " + asked + b"workspace/describe ")


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scripted(INFO) as server, Scripted(INFO) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        open_loom(server.url, token="secret-token").workspace("james")
        assert (len(server.requests), len(proxy.requests)) == (1, 0)


def test_too_much_at_once_is_refused_before_it_is_sent() -> None:
    with Scripted(INFO) as server:
        with pytest.raises(Rejected, match="at most 4,194,304"):
            opened(server).mind.write_note("x", "ü" * 3_000_000)
        assert len(server.requests) == 1


def test_text_that_is_no_unicode_is_for_the_server_to_judge() -> None:
    with Scripted(INFO, whole([])) as server:
        opened(server).semantic.get_subjects(["half \ud800 a letter"])
        assert rb"half \ud800 a letter" in server.requests[1]


def test_a_wait_that_is_too_long_is_not_begun() -> None:
    busy = reply("429 Too Many", b'{"error": "too many requests"}', retry_after="3600")
    with Scripted(INFO, busy) as server:
        with pytest.raises(StoreBusy, match="too many requests"):
            opened(server).jobs()
        assert len(server.requests) == 2


@pytest.mark.promise("remote.errors")
def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(StoreBusy, match="cannot be reached") as caught:
        open_loom(f"http://127.0.0.1:{port}", token=None).workspace()
    assert time.monotonic() - began < 5
    assert "everloom serve" in str(caught.value.hint)
    with pytest.raises(StoreBusy, match="cannot be reached"):
        open_loom("http://nowhere.invalid", token=None).workspace()


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everloom.remote.loom.timeouts_of", lambda _: sending.Timeouts(silent=0.3, whole=0.6))
    with Scripted(INFO, SILENCE) as server:
        with pytest.raises(StoreBusy, match="it took too long"):
            opened(server).jobs()
        assert len(server.requests) == 2, "a slow server is not asked again"
    dripping = DrippingServer()
    with pytest.raises(StoreBusy, match="too long"):
        open_loom(dripping.url, token=None).workspace()
    dripping.close()


class DrippingServer:
    """Sends one byte of an answer every tenth of a second."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._end = threading.Event()
        threading.Thread(target=self._drip, daemon=True).start()

    def _drip(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            try:
                while not self._end.wait(0.1):
                    connection.sendall(b" ")
            except OSError:
                return

    def close(self) -> None:
        """Stop."""
        self._end.set()
        self._listener.close()


@pytest.mark.promise("remote.tokens")
def test_a_token_goes_nowhere_else_and_stands_in_no_error(caplog: pytest.LogCaptureFixture) -> None:
    secret = "everloom-token-that-nobody-may-see"
    with Scripted(INFO) as target:
        away = reply("302 Found", b"", location=target.url)
        with Scripted(away) as server, pytest.raises(StoreError) as caught:
            open_loom(server.url, token=secret).workspace()
        assert f"Bearer {secret}".encode() in server.requests[0]
        assert target.requests == []
    assert secret not in str(caught.value)
    for wrong in ("two words", "ümlaut", "", "line\nbreak"):
        with pytest.raises(Rejected) as refused:
            open_loom("http://127.0.0.1:1", token=wrong)
        assert not wrong or wrong not in str(refused.value)
    with caplog.at_level(logging.WARNING):
        open_loom("http://memory.example.org", token=secret).close()
    assert "without encryption" in caplog.text
    assert secret not in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "https://",
        "http://:8080",
        "https://host/?token=x",
        "https://host/#x",
        "https://me:word@host",
        "http://[::1",
        "http://host:99999999",
        "http://ho\nst",
    ],
)
def test_a_wrong_address_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(Rejected) as caught:
        open_loom(url, token="secret-token")
    assert "word" not in caught.value.message.replace("password", "")
    assert caught.value.hint


@pytest.mark.parametrize(
    "caller",
    [
        {"session": "x" * 201},
        {"session": "two\nlines"},
        {"session": " "},
        {"model_tier": "x" * 201},
        {"name": "half \ud800"},
        {"name": "\n"},
        {"origin": "nowhere"},
    ],
)
def test_what_a_server_would_skip_is_refused(caller: dict[str, str]) -> None:
    with Scripted(INFO) as server, open_loom(server.url, token=None) as loom:
        with pytest.raises(Rejected):
            loom.workspace(**caller)  # type: ignore[arg-type]
        assert server.requests == []


def test_a_token_is_refused_for_a_store_of_this_machine(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="a token is for a server"):
        open_loom(f"sqlite:///{tmp_path}/loom.db", token="x")
    assert not (tmp_path / "loom.db").exists()


def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run([*made, "-days", "1", "-subj", "/CN=localhost"], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def shake() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    context.wrap_socket(connection, server_side=True)
                except OSError:
                    return

        threading.Thread(target=shake, daemon=True).start()
        with pytest.raises(StoreError, match="does not prove who it is") as caught:
            open_loom(f"https://localhost:{listener.getsockname()[1]}", token="secret-token").workspace()
    assert not isinstance(caught.value, StoreBusy)


def test_a_loom_that_was_closed_says_so() -> None:
    with Scripted(INFO) as server:
        with open_loom(server.url, token=None) as loom:
            place = loom.workspace("james")
        with pytest.raises(StoreError, match="was closed"):
            place.jobs()


def test_what_is_no_verb_says_that_it_is_not_there() -> None:
    with Scripted(INFO) as server:
        place = opened(server)
        with pytest.raises(AttributeError, match="where the store is"):
            _ = place.mind.conversation
        with pytest.raises(AttributeError, match="where the store is"):
            _ = place.nonsense
        with pytest.raises(TypeError):
            place.semantic.remember()  # type: ignore[call-arg]
        with pytest.raises(Rejected, match="no time zone"):
            place.semantic.remember(["James"], "x", observed_at=datetime(2026, 1, 1))  # noqa: DTZ001
        when = datetime(2026, 1, 1)  # noqa: DTZ001
        with pytest.raises(Rejected, match="no time zone"):
            place.semantic.add_observations([NewObservation(subject_names=("James",), content="x", observed_at=when)])
        with pytest.raises(Rejected, match="not a number"):
            place.mind.update_status({"water": {"glasses": float("inf")}})
        with pytest.raises(Rejected, match="not a number"):
            place.semantic.remember(["James"], "x", confidence=float("nan"))
        assert len(server.requests) == 1
