"""What concerns the whole server: work, workspaces, tokens, settings, the doctor; who may see it; and home."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest

from everloom.kernel.tokens import Tokens
from tests.patience import PATIENCE, wait_until
from tests.surfaces.mcp.ground import server_process
from tests.surfaces.page.conftest import Look, Open
from tests.surfaces.page.ground import (
    HOSTILE,
    Site,
    Visitor,
    assert_fits,
    assert_harmless,
    assert_readable,
    follow,
    forms_in,
    lend_site,
    said_in,
    token_for,
)

OWNED = ("/tokens", "/settings", "/doctor")


@pytest.mark.promise("page.work")
def test_what_is_due_is_run_in_the_background_and_its_progress_is_shown(site: Site, visitor: Visitor) -> None:
    site.workspace.semantic.remember(["Mara"], "Mara sails.")
    page = visitor.see("work")
    assert "gives texts their vectors" in page
    done = visitor.send(page, "work/start", work="sleep")
    assert "Started as job" in said_in(done)
    wait_until(lambda: "running" not in visitor.see("work").partition("Started by somebody")[2][:600], "the job to end")
    assert re.search(r"<strong>sleep</strong> \(job \d+\) done", visitor.see("work"))
    assert "there is no work called" in visitor.send(page, "work/start", 404, work="nothing")


@pytest.mark.promise("page.work")
def test_a_task_that_failed_says_why_and_when_it_is_tried_again(site: Site, visitor: Visitor) -> None:
    class Broken:
        name = "embed"

        def due(self, *_: object) -> int:
            return 3

        def run(self, *_: object) -> None:
            raise ValueError(f"it broke {HOSTILE[2]}")

    site.loom.work.add(Broken())  # type: ignore[arg-type]
    site.loom.work.run_due([site.workspace.info], tasks=["embed"])
    assert "1</strong> background tasks failed" in visitor.see()
    page = visitor.see("work")
    assert "failed 1 time" in page
    assert "it broke" in page
    assert "tried again at" in page
    assert_harmless(page)
    assert "may run again" in said_in(visitor.send(page, "work/retry", task="embed"))
    assert site.loom.work.failed(site.workspace.info)[0].resting_until is None


def test_the_trail_is_told_in_words_and_read_on_page_by_page(site: Site, visitor: Visitor) -> None:
    ids = [site.workspace.semantic.remember(["Mara"], f"Mara sails, day {number}.").id for number in range(60)]
    site.workspace.mark(ids[0], "questionable", "too long ago")
    page = visitor.see("work")
    assert "marked as questionable" in page
    assert "because <bdi>too long ago" in page
    assert "a test" in page
    assert "Mara sails, day 59." in page
    assert "Mara sails, day 5." not in page
    before = re.search(r"work\?before=(\d+)", page)
    assert before is not None
    assert "Mara sails, day 5." in visitor.see("work", before=before[1])
    filtered = visitor.see("work", operation="mark questionable")
    assert "Mara sails, day 0." in filtered
    assert "Mara sails, day 59." not in filtered
    site.workspace.semantic.recall("Mara")
    assert "recall" not in visitor.see("work").partition("Everything that happened")[2]
    assert "recall" in visitor.see("work", reads="on").partition("Everything that happened")[2]


@pytest.mark.promise("page.changes")
def test_home_tells_what_changed_since_somebody_looked(site: Site, visitor: Visitor) -> None:
    first = visitor.see()
    assert "Latest changes" in first
    site.workspace.semantic.remember(["Mara"], "Mara bought a boat.")
    page = visitor.see()
    assert "Mara bought a boat." in page
    seen = visitor.send(page, "looked")
    assert "Mara bought a boat." not in seen.partition("Who this memory belongs to")[0]
    other = site.loom.workspace("james", session="another talk")
    understood = other.semantic.create_understanding(["Mara"], "Mara sails.", "She sails.")
    other.semantic.recall("Mara")
    page = visitor.see().partition("Who this memory belongs to")[0]
    assert "Changed since you last looked" in page
    assert "wrote an understanding of" in page
    assert "another talk" in page
    assert f"item/{understood.id}" in page
    assert "recall" not in page, "reading changes nothing"


@pytest.mark.promise("page.workspaces")
def test_the_owner_makes_changes_and_removes_workspaces(site: Site, visitor: Visitor) -> None:
    page = visitor.open("/workspaces")
    made = visitor.send(page, "/workspaces", name=HOSTILE[0], description=HOSTILE[2], time_zone="Europe/Paris")
    assert_harmless(made)
    info = site.loom.workspaces.get(HOSTILE[0])
    assert (info.time_zone, info.description) == ("Europe/Paris", HOSTILE[2])
    taken = visitor.send(page, "/workspaces", 409, name="james", description="kept words")
    assert "already a workspace" in taken
    assert "kept words" in taken
    address = f"/workspaces/{info.id}"
    one = visitor.open(address)
    changed = visitor.send(one, address, name="Mara", description="hers")
    assert "is changed" in said_in(changed)
    assert site.loom.workspaces.get("Mara").id == info.id
    one = visitor.open(address)
    assert "0 observations" in one
    assert "nothing was removed" in visitor.send(one, f"{address}/remove", 422, confirm="mara")
    assert site.loom.workspaces.by_id(info.id) is not None
    assert "are removed" in said_in(visitor.send(one, f"{address}/remove", confirm="Mara"))
    assert site.loom.workspaces.by_id(info.id) is None
    visitor.open(address, 404)


@pytest.mark.promise("page.tokens")
def test_a_secret_is_shown_once_and_kept_nowhere(site: Site, visitor: Visitor) -> None:
    page = visitor.open("/tokens")
    form = next(each for each in forms_in(page) if each.action == "/tokens")
    fields = form.filled({"name": "phone", "workspace": "james", "days": 7})
    answer = visitor.http.post("/tokens", data=dict(fields))
    (secret,) = set(re.findall(r"everloom_[\w-]{20,}", answer.text))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert secret not in str(answer.headers)
    assert secret not in str(dict(visitor.http.cookies))
    found = Tokens(site.loom.store, site.loom.clock).verify(secret)
    assert found is not None
    assert (found.name, found.read_only) == ("phone", False)
    listed = visitor.open("/tokens")
    assert secret not in listed
    assert "phone" in listed
    assert "already a token" in visitor.send(listed, "/tokens", 409, name="phone", workspace="james", days="")
    assert "is revoked" in said_in(visitor.send(listed, "/tokens/revoke", name="phone"))
    assert Tokens(site.loom.store, site.loom.clock).verify(secret) is None


@pytest.mark.promise("page.owner")
def test_what_concerns_the_whole_server_is_for_its_owner_alone(site: Site, visitor: Visitor) -> None:
    site.loom.workspace("somebody else's")
    with httpx2.Client(base_url=site.url, timeout=PATIENCE) as http:
        http.headers["authorization"] = f"Bearer {token_for(site)}"
        for path in (*OWNED, f"/workspaces/{site.workspace.info.id}"):
            assert http.get(path).status_code == 403, path
        listed = http.get("/workspaces")
        assert listed.status_code == 200
        assert "james" in listed.text
        assert "somebody else" not in listed.text
        assert "Make one" not in listed.text
        assert 'href="/tokens"' not in listed.text
        key = dict(forms_in(listed.text)[0].fields)["form_key"]
        remove = f"/workspaces/{site.workspace.info.id}/remove"
        for path in ("/workspaces", "/tokens", "/tokens/revoke", "/doctor", remove):
            sent = {"form_key": key, "name": "x", "workspace": "james", "confirm": "james"}
            assert http.post(path, data=sent).status_code == 403, path
    assert {each.name for each in Tokens(site.loom.store, site.loom.clock).list()} == {"reader"}
    assert len(site.loom.workspaces.list()) == 2


@pytest.mark.promise("page.owner")
def test_a_server_for_one_workspace_or_one_that_only_reads_has_no_owner_who_changes_it(store_url: str) -> None:
    with lend_site(store_url, workspace="james") as site:
        for path in OWNED:
            assert httpx2.get(site.url + path, timeout=PATIENCE).status_code == 403, path
    with lend_site(store_url, read_only=True) as site:
        visitor = Visitor(site)
        with visitor.http:
            page = visitor.open("/workspaces")
            assert "Make one" not in page
            key = next(value for name, value in forms_in(page)[0].fields if name == "form_key")
            visitor.post(f"{site.url}/workspaces", [("form_key", key), ("name", "new")], 403)
            visitor.post(f"{site.url}/tokens", [("form_key", key), ("name", "new"), ("workspace", "james")], 403)
            for path in ("consolidation", "review", "work", "consolidation/similar"):
                posts = [each.action for each in forms_in(visitor.see(path)) if each.method == "post"]
                assert set(posts) <= {"/theme", site.at("review/secrets").removeprefix(site.url)}, path


@pytest.mark.promise("page.doctor")
def test_the_doctor_says_what_works_and_what_to_do(site: Site, visitor: Visitor) -> None:
    site.workspace.semantic.remember(["Mara"], "Mara sails.")
    assert "Nothing was checked" in visitor.open("/doctor")

    def examined() -> bool:
        return "Examined" in visitor.open("/doctor")

    visitor.send(visitor.open("/doctor"), "/doctor")
    wait_until(examined, "the checks to end")
    page = visitor.open("/doctor")
    for name in ("python", "sqlite", "integrity", "vectors of james", "jobs", "llm"):
        assert f"<strong>{name}</strong>" in page, name
    visitor.send(page, "/doctor", deep="on")
    wait_until(lambda: "everything was read, no problem found" in visitor.open("/doctor"), "the deep checks to end")


@pytest.mark.promise("page.settings")
def test_settings_say_where_they_come_from_and_show_no_secret(tmp_path: Path) -> None:
    key, given = "sk-ant-" + "x1y2z3" * 8, {"EVERLOOM_MIND_TOOL_ROUNDS": "7"}
    with server_process(tmp_path, tmp_path / "loom.db", ANTHROPIC_API_KEY=key, **given) as url:
        page = httpx2.get(f"{url}/settings", timeout=PATIENCE).text
    assert key not in page
    row = re.search(r"<tr><th scope=\"row\">tool_rounds</th>(.*?)</tr>", page)
    assert row is not None
    assert "<code>7</code>" in row[1]
    assert "environment" in row[1]
    assert "how many rounds of tool calls" in row[1]
    assert re.search(r"anthropic_api_key</th><td><code>set</code>", page)
    assert re.search(r"openai_api_key</th><td><code>not set</code>", page)


def test_the_pages_of_the_server_are_readable_in_a_browser(open_page: Open, file_site: Site, look: Look) -> None:
    file_site.workspace.semantic.remember(["Mara"], "Mara sails.")
    watched = open_page("work", look)
    page = watched.page
    follow(page, page.get_by_role("button", name="Run everything that is due"))
    page.get_by_text("Started as job").wait_for()
    for path in ("/workspaces", "/tokens", "/settings", "/doctor", f"/workspaces/{file_site.workspace.info.id}"):
        page.goto(file_site.url + path)
        assert_readable(page)
        assert_fits(page)
    page.goto(f"{file_site.url}/tokens")
    page.get_by_label("Whose it is").fill("laptop")
    follow(page, page.get_by_role("button", name="Make it"))
    secret = page.locator("pre.secret").inner_text()
    assert secret.startswith("everloom_")
    assert secret not in page.url
    assert secret not in str(page.context.cookies())
    page.goto(f"{file_site.url}/tokens")
    assert secret not in page.content()
