"""The JSON API over real HTTP: every verb, the same answers as MCP, problems, keys, versions, tokens, changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from everloom.kernel.tokens import Tokens
from everloom.kernel.verbs import READS, Says, verb, verbs_of
from everloom.loom import Workspace, open_loom
from everloom.surfaces.api import api_routes
from everloom.surfaces.api.calls import api_calls
from everloom.surfaces.api.description import describe
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from everloom.wiring.faculties import FACULTIES, Faculty
from tests.patience import PATIENCE, wait_until
from tests.surfaces.mcp.ground import SETTINGS, call, over_http, server_process

pytestmark = pytest.mark.xdist_group("a server process")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    with server_process(home, home / "loom.db") as address:
        yield address


@pytest.fixture
def api(url: str, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    headers = {"x-memory-workspace": request.node.name, "x-memory-session-id": "api"}
    with httpx2.Client(base_url=f"{url}/api/v1", timeout=PATIENCE, headers=headers) as client:
        yield client


def remember(api: httpx2.Client, text: str, **headers: str) -> httpx2.Response:
    body = {"subject_names": ["James"], "content": text}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.post("/semantic/remember", json=body, headers=named)


def problem(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == answer.status_code
    return found


@pytest.mark.promise("api.every-verb")
def test_every_verb_of_every_faculty_has_a_path_that_is_described() -> None:
    declared = {f"/api/v1/{faculty.name}/{verb.name}" for faculty in FACULTIES.values() for verb in faculty.verbs}
    described = describe()
    assert {each.path for each in api_calls()} == declared
    assert described["paths"].keys() == declared | {"/api/v1/changes", "/api/v1/jobs/changes", "/api/v1/mind/answer"}
    for each in api_calls():
        methods = described["paths"][each.path]
        assert methods.keys() == ({"post"} if each.verb.effect.writes else {"get", "post"})
        body = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        given = {parameter.name for parameter in each.parameters} - {"idempotency_key"}
        assert body["properties"].keys() == given, each.path
        assert methods["post"]["responses"]["200"]["content"]["application/json"]["schema"]


def test_the_description_refers_to_nothing_that_is_missing() -> None:
    described = describe()
    text = json.dumps(described)
    for part in text.split('"$ref": "')[1:]:
        place: Any = described
        for step in part.partition('"')[0].removeprefix("#/").split("/"):
            place = place[step]
    ids = [each["operationId"] for path in described["paths"].values() for each in path.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.anyio
@pytest.mark.promise("api.same-answers")
async def test_an_answer_is_the_structured_result_of_mcp(url: str, api: httpx2.Client) -> None:
    remember(api, "James sails on Sundays.")
    here = api.get("/semantic/get_subjects", params={"names": "James"}).json()
    headers = {"x_memory_workspace": api.headers["x-memory-workspace"], "x_memory_session_id": "api"}
    async with over_http(url, "auto", **headers) as client:
        there = await call(client, "open_around", subject_name="James")
    assert here["result"][0]["name"] == "James"
    assert api.post("/semantic/open_around", json={"subject_name": "James"}).json().keys() == there.keys()


def test_reading_works_by_get_and_by_post(api: httpx2.Client) -> None:
    known = remember(api, "James sails on Sundays.").json()["id"]
    by_get = api.get("/items/search", params={"query": "who sails?", "limit": 1, "kinds": ["observation", "scene"]})
    by_post = api.post("/items/search", json={"query": "who sails?", "limit": 1})
    assert [hit["id"] for hit in by_get.json()["hits"]] == [hit["id"] for hit in by_post.json()["hits"]] == [known]
    assert api.get("/items/why", params={"id": known}).json()["because"][0]["text"] == "api"
    assert api.get("/semantic/remember", params={"content": "x"}).status_code == 405
    assert by_get.headers["cache-control"] == "no-store"


@pytest.mark.promise("api.problems")
def test_errors_are_problem_details_from_the_one_table(api: httpx2.Client) -> None:
    remember(api, "James sails.")
    missing = problem(api.get("/items/show", params={"id": 4711}))
    assert (missing["status"], missing["code"], missing["retry"]) == (404, "not_found", False)
    assert missing["hint"]
    assert problem(api.post("/items/show", json={"id": "x"}))["status"] == 422
    assert problem(api.post("/items/show", json={"id": 1, "colour": "red"}))["status"] == 422
    assert problem(api.post("/items/show", content=b"{", headers={"content-type": "application/json"}))["status"] == 422
    assert (
        problem(api.post("/items/show", content=b"[]", headers={"content-type": "application/json"}))["status"] == 422
    )
    assert problem(api.post("/items/show", content=b"id=1"))["status"] == 415
    assert problem(api.get("/items/nothing"))["status"] == 404
    assert problem(api.get("/items/show", params=[("id", "1"), ("id", "2")]))["status"] == 422


@pytest.mark.promise("api.reads-on")
def test_every_list_that_goes_on_says_where_in_the_same_way(api: httpx2.Client) -> None:
    for number in range(7):
        remember(api, f"James sails to island {number}.")
    whole = [each["id"] for each in api.get("/items/events", params={"limit": 50}).json()["result"]]
    found: list[int] = []
    place: str | None = "/items/events?limit=3"
    while place is not None:
        answer = api.get(place)
        found += [each["id"] for each in answer.json().get("result", ())]
        place = answer.links["next"]["url"].removeprefix("/api/v1") if "next" in answer.links else None
    assert found == whole
    # An answer that is cut because it would be too long goes on where it was cut.
    cut = api.get("/items/events", params={"max_tokens": 200})
    shown = cut.json()["result"]
    assert cut.json()["note"]
    following = api.get(cut.links["next"]["url"].removeprefix("/api/v1")).json()["result"]
    assert [each["id"] for each in (*shown, *following)] == whole[: len(shown) + len(following)]
    assert following


@pytest.mark.promise("api.every-verb")
def test_a_verb_that_is_added_to_a_faculty_is_a_call_by_itself(api: httpx2.Client) -> None:
    class Weather:
        """A faculty of a test."""

        def __init__(self, workspace: Workspace) -> None:
            self.place = workspace.name

        @verb("Tell the weather", READS)
        def tell(self, day: Annotated[str, Says("which day")], *, times: int = 1) -> dict[str, int]:
            """Tell the weather of a day."""
            return {f"{day} in {self.place}": times}

    faculty = Faculty("weather", f"{__name__}:{Weather.__name__}", "Weather.", open=lambda place, _: Weather(place))
    vars(faculty)["verbs"] = verbs_of(Weather)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as home:
        patch.setitem(FACULTIES, "weather", faculty)
        api_calls.cache_clear()
        describe.cache_clear()
        try:
            opening = LazyLoom(lambda: open_loom(Path(home) / "loom.db", settings=SETTINGS))
            app = Starlette(routes=api_routes(Entrance(opening, Process(None, "default"))))
            with closing(opening), TestClient(app) as client:
                found = client.get("/api/v1/weather/tell", params={"day": "Sunday", "times": "2"})
                described = client.get("/api/v1/openapi.json").json()["paths"]["/api/v1/weather/tell"]
        finally:
            api_calls.cache_clear()
            describe.cache_clear()
    assert found.json() == {"Sunday in default": 2}
    assert described.keys() == {"get", "post"}


@pytest.mark.promise("api.keys")
def test_a_key_makes_a_write_safe_to_repeat(api: httpx2.Client) -> None:
    first = remember(api, "James has a dog.", idempotency_key="k1")
    assert remember(api, "James has a dog.", idempotency_key="k1").json() == first.json()
    assert problem(remember(api, "James has a cat.", idempotency_key="k1"))["status"] == 409
    verdict = {"id": first.json()["id"], "verdict": "useful"}
    marked = [api.post("/items/mark", json=verdict, headers={"idempotency-key": "k3"}).json() for _ in range(2)]
    assert marked[0] == marked[1]
    # What only reads may be repeated anyway.
    assert api.get("/items/show", params={"id": first.json()["id"]}, headers={"idempotency-key": "k2"}).is_success


@pytest.mark.promise("api.versions")
def test_a_version_that_was_seen_is_sent_back_as_it_came(api: httpx2.Client) -> None:
    """A write over another's change needs the version it saw: numbers and hashes alike."""

    def post(path: str, version: str | None = None, **body: Any) -> httpx2.Response:
        return api.post(path, json=body, headers={} if version is None else {"if-match": version})

    kept = {"type": "general", "title": "Boat", "content": "Blue."}
    known = {"target": "knowledge", "key": "boats"}
    memory = post("/graph/store", **kept)
    entry = post("/episodic/update_memory", **known, action="append", content="Boats float.")
    relation = post("/episodic/update_relation", entity_name="Audrey", content="Wife.")
    note = post("/mind/append_note", text="Boats float.", name="boat.md")
    for path, first, body in (
        ("/graph/update", memory, {"id": memory.json()["id"], "content": "Red."}),
        ("/episodic/update_memory", entry, {**known, "action": "update", "content": "Boats sink."}),
        ("/episodic/update_relation", relation, {"entity_name": "Audrey", "content": "Sailor."}),
        ("/mind/write_note", note, {"name": "boat.md", "body": "Boats sink."}),
    ):
        seen = first.headers["etag"]
        changed = post(path, seen, **body)
        assert changed.is_success, changed.text
        assert changed.headers["etag"] != seen
        refused = problem(post(path, seen, **{**body, "content" if "content" in body else "body": "Boats fly away."}))
        assert (refused["status"], bool(refused["current"])) == (409, True)
        assert problem(post(path, '"not a version"', **body))["status"] == 422
    gone = post("/episodic/update_relation", '"000000000000"', entity_name="Nobody", content="New.")
    assert problem(gone)["status"] == 409
    added = post("/episodic/update_memory", '"000000000000"', **known, action="append", content="Boats float.")
    assert problem(added)["status"] == 422


@pytest.mark.promise("api.tokens")
def test_a_token_opens_its_workspace_and_may_only_read_if_it_says_so(url: str, home: Path) -> None:
    with open_loom(home / "loom.db", settings=SETTINGS) as loom:
        tokens = Tokens(loom.store, loom.clock)
        kept = loom.workspace("kept")
        kept.semantic.remember(["James"], "James sails.")
        reader = tokens.create("reader", kept.info, read_only=True).secret
    ask = partial(httpx2.request, timeout=PATIENCE)
    headers = {"authorization": f"Bearer {reader}"}
    found = ask("GET", f"{url}/api/v1/items/search", params={"query": "sails"}, headers=headers)
    assert found.json()["hits"]
    body = {"subject_names": ["James"], "content": "James swims."}
    assert problem(ask("POST", f"{url}/api/v1/semantic/remember", json=body, headers=headers))["status"] == 403
    elsewhere = {**headers, "x-memory-workspace": "other"}
    answer = ask("GET", f"{url}/api/v1/items/search", params={"query": "sails"}, headers=elsewhere)
    assert problem(answer)["status"] == 403
    assert ask("GET", f"{url}/api/v1/items/events", headers={"authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.promise("api.changes")
def test_changes_are_streamed_in_order_from_where_a_client_left_off(api: httpx2.Client) -> None:
    for text in ("James sails.", "James swims.", "James rows."):
        remember(api, text)
    events = [event["id"] for event in reversed(api.get("/items/events").json()["result"])]
    assert len(events) == 3
    for headers, expected in (({}, events), ({"last-event-id": str(events[0])}, events[1:])):
        with api.stream("GET", "/changes", params={"after": 0}, headers=headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert ids_in(answer, len(expected)) == expected
    with api.stream("GET", "/changes") as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("retry")
        last = remember(api, "James walks.").json()["id"]
        told = next(json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data"))
    assert told["operation"] == "remember"
    assert told["id"] > last
    assert problem(api.get("/changes", params={"after": "x"}))["status"] == 422


def ids_in(answer: httpx2.Response, count: int) -> list[int]:
    """Read the ids of the next events of a stream."""
    found: list[int] = []
    for line in answer.iter_lines():
        if line.startswith("id: "):
            found.append(int(line.removeprefix("id: ")))
        if len(found) == count:
            break
    return found


def test_the_reference_is_a_page_that_runs_nothing(url: str) -> None:
    page = httpx2.get(f"{url}/api/v1/reference", timeout=PATIENCE)
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "/api/v1/semantic/remember" in page.text
    assert "<script" not in page.text
    assert '<code>subject_names</code>: list of string <span class="must">(required)</span>' in page.text
    assert "style=" not in page.text
    style = httpx2.get(f"{url}/api/v1/reference.css", timeout=PATIENCE)
    assert style.headers["content-type"].startswith("text/css")
    assert "--ground" in style.text
    dark = httpx2.get(f"{url}/api/v1/reference", timeout=PATIENCE, headers={"cookie": "everloom_theme=dark"})
    assert 'data-theme="dark"' in dark.text
    assert '<a href="#Remembered">Remembered</a>' in page.text
    assert '<h3 id="Remembered">' in page.text
    assert httpx2.get(f"{url}/api/v1", timeout=PATIENCE).json()["openapi"] == "/api/v1/openapi.json"
    assert httpx2.get(f"{url}/api/v1/openapi.json", timeout=PATIENCE).json()["openapi"] == "3.1.0"


def test_the_api_follows_files_that_people_change_while_it_serves(api: httpx2.Client) -> None:
    api.post("/graph/episode", json={"title": "Began"}).raise_for_status()
    directory = Path(api.get("/graph/report").json()["directory"])

    def is_found(title: str) -> bool:
        return title in [each["title"] for each in api.get("/graph/search").json().get("memories", ())]

    for name in ("First", "Second"):
        (directory / f"{name}.md").write_text(f"# {name}\n\nWritten by hand.\n")
        wait_until(partial(is_found, name), f"the memory {name}", step=0.1)
