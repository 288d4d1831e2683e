"""The story of Ann, on both engines: what one client remembers while another consolidates is not lost."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from tests.surfaces.mcp.ground import call, serving

pytestmark = pytest.mark.anyio


@pytest.mark.promise("semantic.covers-what-was-read")
async def test_what_is_remembered_during_a_pass_is_still_pending_after_it(store_url: str) -> None:
    with serving(store_url, "semantic-full") as server:
        async with Client(server) as client:

            async def a(tool: str, **given: Any) -> dict[str, Any]:
                return await call(client, tool, session_id="a", **given)

            async def b(tool: str, **given: Any) -> dict[str, Any]:
                return await call(client, tool, session_id="b", **given)

            harbour = await b("remember", subject_names=["Ann"], content="Ann works at the harbour.")
            begun = await a("begin_consolidation")
            page = await a("read_unseen", subject_names=["Ann"])
            assert [each["id"] for each in page["observations"]] == [harbour["id"]]
            assert "cursor" not in page
            hospital = await b("remember", subject_names=["Ann"], content="Ann is in hospital.")
            ann = {"subject_names": ["Ann"], "content": "Ann works at the harbour.", "summary": "At the harbour."}
            await a("create_understanding", **ann, source_observation_ids=[harbour["id"]])
            finished = await a("finish_consolidation", generation=begun["generation"], summary="Read Ann.")
            assert finished["pending_consolidation_count"] == 1
            report = await a("get_consolidation_report")
            assert [each["subject_names"] for each in report["stale_understandings"]] == [["Ann"]]
            assert [each["id"] for each in report["unlinked_observations"]] == [hospital["id"]]
            page = await a("read_unseen", subject_names=["Ann"])
            assert [each["content"] for each in page["observations"]] == ["Ann is in hospital."]
            await a(
                "update_understanding",
                understanding_id=page["understanding"]["id"],
                new_content="Ann works at the harbour, and is in hospital.",
                new_summary="In hospital.",
                source_observation_ids=[hospital["id"]],
                seen_through_id=page["seen_through_id"],
                expected_version=page["understanding"]["version"],
            )
            assert (await a("orient"))["pending_consolidation_count"] == 0
            assert (await a("get_consolidation_report"))["unlinked_observations"] == []
