"""What can be set of semantic memory is heeded."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.errors import Rejected
from everloom.loom import open_loom
from everloom.settings import Settings, load


@pytest.mark.parametrize(("pause", "reason"), [(4, None), (6, "time_gap")])
def test_the_pause_after_which_a_client_lost_what_it_was_shown_can_be_set(
    store_url: str, clock: ManualClock, pause: float, reason: str | None
) -> None:
    settings = Settings.model_validate({"semantic": {"seen_minutes": 5}})
    with open_loom(store_url, settings=settings, clock=clock) as loom:
        mind = loom.workspace("james", session="monday").semantic
        token = mind.bring_to_mind("sailing").heartbeat_token
        clock.advance(timedelta(minutes=pause))
        assert mind.bring_to_mind("sailing", last_token=token).compaction_reason == reason


def test_consolidation_by_a_model_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    file = tmp_path / "everloom.toml"
    file.write_text("")
    assert load(file, environ={})[0].semantic.consolidate == "off"
    assert load(file, environ={"EVERLOOM_SEMANTIC_CONSOLIDATE": "auto"})[0].semantic.consolidate == "auto"
    with pytest.raises(Rejected, match=r"semantic\.consolidate"):
        load(file, environ={"EVERLOOM_SEMANTIC_CONSOLIDATE": "sometimes"})
