"""What a server logs: an object a line if it is asked to, with the id of the request, and nothing of the memory."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everloom.loom import open_loom
from everloom.secrets import logger_of
from everloom.sections import LogSettings
from everloom.surfaces.cli.runtime.logs import set_up_server_log
from everloom.surfaces.web.accounting import RequestFigures, accounted, note_call
from tests.patience import PATIENCE
from tests.surfaces.mcp.ground import SETTINGS, ServerProcess

pytestmark = pytest.mark.xdist_group("a server process")

WORDS = "albatross"
NAMED = {"X-Memory-Workspace": "the-unspeakable"}


@pytest.mark.promise("log.requests")
def test_every_line_about_a_request_has_its_id_and_none_has_what_was_asked(store_url: str, tmp_path: Path) -> None:
    with open_loom(store_url, settings=SETTINGS) as loom:
        place = loom.workspace("the-unspeakable").info.id
    chosen = {"EVERLOOM_LOG_FORMAT": "json", "EVERLOOM_LOG_LEVEL": "info"}
    server = ServerProcess(tmp_path, store_url, "--port", "0", **chosen)
    url = server.wait_for_address()
    http = httpx2.Client(base_url=url, headers=NAMED, timeout=PATIENCE)
    said = {"subject_names": [WORDS], "content": f"The {WORDS} sails."}
    given = http.post("/api/v1/semantic/remember", json=said, headers={"x-request-id": "our-id.1"})
    made = http.get("/api/v1/semantic/recall", params={"nonsense": WORDS})
    forged = http.get("/api/v1", headers={"x-request-id": 'a"b \\ c'})
    refused = http.get("/api/v1", headers={"host": "evil.example"})
    http.close()
    code, log = server.stop()
    assert code == 0
    assert WORDS not in log
    assert "unspeakable" not in log
    lines = [json.loads(line) for line in log.splitlines()]
    assert not [each for each in lines if each.get("route") == "/ready" and each["status"] == 200]
    about = {each["request_id"]: each for each in lines if "status" in each}
    assert given.headers["x-request-id"] == "our-id.1"
    line = about["our-id.1"]
    assert (line["verb"], line["workspace"], line["status"]) == ("semantic.remember", place, 200)
    assert (line["method"], line["route"], line["level"]) == ("POST", "/api/v1/semantic/remember", "info")
    assert {"time", "logger", "message", "duration_ms"} <= line.keys()
    # One that was made is in the answer, too, where it says what went wrong.
    assert made.json()["request_id"] == made.headers["x-request-id"]
    assert about[made.headers["x-request-id"]]["status"] == made.status_code == 422
    assert len(forged.headers["x-request-id"]) == 32
    assert refused.json()["request_id"] in about


@pytest.fixture
def logs() -> Iterator[None]:
    """Put the loggers back as they were."""
    kept = [(log, log.handlers[:], log.level, log.propagate) for log in (logging.getLogger("everloom"), logging.root)]
    yield
    for log, handlers, level, propagate in kept:
        log.handlers[:], log.propagate = handlers, propagate
        log.setLevel(level)


def written(capsys: pytest.CaptureFixture[str], **settings: Any) -> Iterator[str]:
    """Log what the code below logs while a request is answered, and give the lines."""
    set_up_server_log(LogSettings(**settings), verbose=False)
    scope = {"method": "GET", "headers": [(b"x-request-id", b"abc")]}
    with accounted(scope, RequestFigures()):
        note_call("semantic.recall", 7)
        try:
            raise ValueError("no such thing as sk-ant-api03-" + "x1Y2" * 24)
        except ValueError:
            logger_of("everloom.somewhere").exception("it failed:\n%s", "two lines")
    yield from capsys.readouterr().err.splitlines()


@pytest.mark.promise("log.requests")
def test_an_object_a_line_holds_a_traceback_and_no_secret(capsys: pytest.CaptureFixture[str], logs: None) -> None:
    (line,) = map(json.loads, written(capsys, format="json"))
    assert (line["level"], line["logger"], line["message"]) == ("error", "everloom.somewhere", "it failed:\ntwo lines")
    assert (line["request_id"], line["verb"], line["workspace"]) == ("abc", "semantic.recall", 7)
    assert "ValueError" in line["traceback"]
    assert "x1Y2x1Y2" not in json.dumps(line)


def test_lines_for_people_name_the_request_behind_the_first(capsys: pytest.CaptureFixture[str], logs: None) -> None:
    first, second, *rest = written(capsys)
    assert first.endswith("it failed: (request_id abc, verb semantic.recall, workspace 7)")
    assert second == "two lines"
    assert any("ValueError" in line for line in rest)
    assert not any("x1Y2x1Y2" in line for line in rest)


def test_lines_of_other_packages_are_objects_as_well(capsys: pytest.CaptureFixture[str], logs: None) -> None:
    set_up_server_log(LogSettings(format="json", level="error"), verbose=False)
    logging.getLogger("uvicorn.error").warning("it is %s", "late")
    logger_of("everloom.somewhere").warning("not severe enough")
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["logger"], line["message"]) == ("uvicorn.error", "it is late")
