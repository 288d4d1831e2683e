"""The harness that puts other memories beside this one, with the only one that needs no environment: plain FTS5."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from benchmarks.peers.dialogue import Bounds, Dialogue, Failed, OutOfTime
from benchmarks.peers.environment import Environment, Unavailable, prepare, run
from benchmarks.peers.roster import PEERS, Peer
from benchmarks.peers.tables import Report
from benchmarks.peers.trial import Row, Trial
from everloom.bench.conversations import SampleConversation, SampleQuestion, SampleTurn

FTS5 = next(peer for peer in PEERS if peer.name == "FTS5")
BROKEN = Peer("broken", "nobody", home="", about="There is no such adapter.")
BOUNDS = Bounds(20, threads=1)
AT = datetime(2026, 5, 1, tzinfo=UTC)
TALK = SampleConversation(
    "talk",
    (
        (
            SampleTurn("D1:1", "James", "I sail to Ghent on Sunday.", AT),
            SampleTurn("D1:2", "Audrey", "I bake bread.", AT),
            SampleTurn("D1:3", "James", "Bread is fine.", AT),
        ),
    ),
    (
        SampleQuestion("who is sailing to Ghent?", "single-hop", frozenset({"D1:1"})),
        SampleQuestion("who said something about bread?", "multi-hop", frozenset({"D1:2", "D1:3"})),
        SampleQuestion("what about the violin?", "single-hop", frozenset({"D1:2"})),
    ),
)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return prepare(FTS5, tmp_path)


def test_a_memory_is_judged_by_the_turns_that_answer(environment: Environment) -> None:
    row = Trial(FTS5, environment, BOUNDS).with_conversations([TALK])
    assert (row.name, row.reason) == ("FTS5", "")
    assert row.version.count(".") == 2
    # Two of three questions are answered in full, the third not at all.
    judged = [row.numbers[name] for name in ("recall@5", "recall@20", "mrr", "ndcg@10")]
    assert judged == pytest.approx([2 / 3] * 4)
    assert all(row.numbers[name] > 0 for name in ("p50_ms", "p95_ms", "writes_per_s", "start_s", "rss_mb"))


def test_generated_texts_are_found_again(environment: Environment) -> None:
    row = Trial(FTS5, environment, BOUNDS).with_texts(300, 20)
    assert row.numbers["items"] == 300
    assert row.numbers["found"] >= 0.9


def test_collections_know_nothing_of_each_other(environment: Environment, tmp_path: Path) -> None:
    with Dialogue(FTS5, environment, BOUNDS, tmp_path) as dialogue:
        assert dialogue.ask("add", collection="a", items=[{"id": "1", "text": "James sails"}]).value == 1
        assert dialogue.ask("search", collection="a", query="sailing?", limit=5).value == ["1"]
        assert dialogue.ask("search", collection="b", query="sailing?", limit=5).value == []


def test_what_a_memory_cannot_do_is_an_answer_and_the_next_request_is_served(
    environment: Environment, tmp_path: Path
) -> None:
    with Dialogue(FTS5, environment, BOUNDS, tmp_path) as dialogue:
        with pytest.raises(Failed, match="AttributeError"):
            dialogue.ask("forget")
        assert "version" in dialogue.ask("stats").value


def test_a_memory_that_does_not_run_is_a_row_with_the_reason(environment: Environment) -> None:
    row = Trial(BROKEN, environment, BOUNDS).with_texts(100, 10)
    assert "nobody" in row.reason
    assert row.numbers == {"items": 100}


def test_a_memory_that_takes_too_long_is_cut(environment: Environment, tmp_path: Path) -> None:
    with Dialogue(FTS5, environment, Bounds(0), tmp_path) as dialogue, pytest.raises(OutOfTime, match="cut after 0 s"):
        dialogue.ask("stats")


def test_what_cannot_be_installed_says_why() -> None:
    with pytest.raises(Unavailable, match="no such package"):
        run([sys.executable, "-c", "import sys; sys.exit('no such package')"])


def test_the_report_names_versions_and_reasons() -> None:
    rows = (Row("FTS5", "3.40.1", {"recall@10": 0.5, "p50_ms": 1.25}), Row("other", reason="needs Node.js with npm"))
    report = Report(date(2026, 11, 16), 1, 3, rows, (), (FTS5,))
    written = report.markdown()
    assert "| FTS5 | 3.40.1 | – | .500 |" in written
    assert "¹ other: needs Node.js with npm" in written
    assert json.loads(json.dumps(report.record()))["retrieval"][1]["reason"] == "needs Node.js with npm"


def test_every_peer_has_an_adapter_and_an_exact_version() -> None:
    folder = Path(__file__).parents[2] / "benchmarks" / "peers" / "adapters"
    assert all((folder / f"{peer.adapter}.py").is_file() for peer in PEERS)
    assert all("==" in name for peer in PEERS if not peer.is_ours for name in peer.packages)
    assert len({peer.name for peer in PEERS}) == len(PEERS)
