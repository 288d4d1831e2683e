"""Lists go on where they ended, whoever writes in between; a search has no next page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everloom.settings import Settings
from tests.patience import PATIENCE
from tests.remote.ground import served

pytestmark = pytest.mark.xdist_group("a server in a thread")

# Every list, and the field that holds its entries.
LISTS = {
    "/graph/recent?": "result",
    "/graph/search?": "memories",
    "/graph/edge_search?": "result",
    "/semantic/what_happened?session_id=api&": "observations",
    "/semantic/get_subjects_by_tag?tag=island&": "result",
    "/semantic/list_observations?subject_names=James&": "result",
    "/semantic/list_versions?understanding_id={understanding}&": "result",
    "/semantic/list_subjects?": "subjects",
    "/semantic/open_region?subject_names=James&": "observations",
    "/items/events?": "result",
    "/items/events_after?event_id=0&": "result",
    "/items/look_back?since=2026-11-01&until=2026-12-31&kinds=exchange&": "items",
    "/episodic/search_history?": "result",
    "/episodic/patrol_report?": "result",
    "/mind/note_history?name=islands.md&": "versions",
    "/forgetting/list_forgotten?": "tombstones",
}
SEARCHES = ("/items/search", "/graph/search", "/graph/recall", "/graph/edge_search", "/episodic/search_history")


class Island:
    """A memory behind the API that grows by one of everything."""

    def __init__(self, api: httpx2.Client) -> None:
        self._api = api
        seen = self.post("/semantic/remember", subject_names=["James"], content="James sails.")["id"]
        text = {"subject_names": ["James"], "content": "James sails.", "summary": "Sails."}
        made = self.post("/semantic/create_understanding", source_observation_ids=[seen], **text)
        self.understanding: int = made["id"]
        kept = {"type": "general", "title": "Harbour", "content": "Where all islands are near."}
        self.centre: str = self.post("/graph/store", **kept)["id"]
        self._count = 0

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Make a call that must succeed."""
        answer = self._api.post(path, json=body)
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def grow(self) -> None:
        """Write one more of everything that is listed."""
        self._count += 1
        name, fact = f"Island {self._count}", f"James sails to island {self._count}."
        self.post("/semantic/create_subjects", subjects=[{"name": name, "tags": ["island"]}])
        self.post("/semantic/remember", subject_names=["James"], content=fact)
        text = {"new_content": fact, "new_summary": name, "reason": "He told."}
        changed = self.post("/semantic/update_understanding", understanding_id=self.understanding, **text)
        self.understanding = changed["new_understanding_id"]
        memory = self.post("/graph/store", type="general", title=name, content=fact, connect=False)["id"]
        self.post("/graph/relate", from_id=memory, to_id=self.centre, type="REQUIRES")
        self.post("/mind/append_note", text=fact, name="islands.md")
        self.post("/episodic/trigger_patrol", wait=True)
        said = {"kind": "exchange", "text": fact, "happened_at": f"2026-11-{10 + self._count}T12:00:00Z"}
        self.post("/items/add", documents=[said])
        gone = self.post("/semantic/remember", subject_names=["Nobody"], content=f"Nobody sails, {name}.")["id"]
        token = self.post("/forgetting/forget", ids=[gone])["confirm"]
        self.post("/forgetting/forget", ids=[gone], confirm=token)


@pytest.fixture
def api(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx2.Client]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    headers = {"x-memory-session-id": "api"}
    with (
        served(store_url, Settings()) as server,
        httpx2.Client(base_url=f"{server.url}/api/v1", timeout=PATIENCE, headers=headers) as client,
    ):
        yield client


def entries(answer: httpx2.Response, field: str) -> list[Any]:
    """Name the entries of a list."""
    assert answer.is_success, answer.text
    return [each.get("id", each.get("number")) for each in answer.json().get(field, ())]


def most_of(path: str) -> int:
    """Return a limit that all entries of a list fit in."""
    return 50 if "history" in path else 100


def onwards(answer: httpx2.Response) -> str | None:
    """Return where a list goes on, without what limits this page alone."""
    place = answer.links["next"]["url"].removeprefix("/api/v1") if "next" in answer.links else None
    return None if place is None else re.sub(r"&max_tokens=\d+", "", place)


@pytest.mark.promise("api.reads-on")
def test_a_list_goes_on_while_others_write(api: httpx2.Client) -> None:
    island = Island(api)
    for _ in range(3):
        island.grow()
    lists = {path.format(understanding=island.understanding): field for path, field in LISTS.items()}
    whole = {
        path: entries(api.get(f"{path}limit={most_of(path)}&max_tokens=100000"), field) for path, field in lists.items()
    }
    found = {}
    places: dict[str, str | None] = {}
    for path, field in lists.items():
        first = api.get(f"{path}limit=2&max_tokens=2000")
        found[path], places[path] = entries(first, field), onwards(first)
    island.grow()
    for path, field in lists.items():
        tokens = 200
        while (place := places[path]) is not None:
            # Whether the limit ends a page or the budget of tokens does, nothing is left out.
            page = api.get(f"{place}&max_tokens={tokens}")
            found[path] += entries(page, field)
            places[path], tokens = onwards(page), 2_200 - tokens
        assert len(whole[path]) >= 3, path
        assert [each for each in found[path] if each in whole[path]] == whole[path], path
        assert len(found[path]) == len(set(found[path])), path
    for path in SEARCHES:
        assert onwards(api.get(path, params={"query": "island", "limit": 1})) is None
    refused = api.get("/graph/search", params={"query": "island", "beyond": island.centre})
    assert refused.status_code == 422
    assert "no next page" in refused.json()["detail"]
