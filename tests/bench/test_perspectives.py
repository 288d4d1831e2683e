"""The embedding server of the perspectives benchmark speaks the wire that everloom reads; several angles are used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from benchmarks.perspectives.run import Tally, compared, markdown
from benchmarks.perspectives.server import Refused, answer, make_server, remembering
from benchmarks.perspectives.systems import VECTORS_ONLY, Reranker, Shelf
from everloom.bench.conversations import SampleConversation, SampleQuestion, SampleTurn
from everloom.kernel.embedding import DEFAULTS

AT = datetime(2026, 5, 1, tzinfo=UTC)
TALK = SampleConversation(
    "talk",
    (
        (
            SampleTurn("D1:1", "James", "I sail to Ghent on Sunday.", AT),
            SampleTurn("D1:2", "Audrey", "I bake bread.", AT),
        ),
    ),
    (SampleQuestion("who is sailing to Ghent?", "single-hop", frozenset({"D1:1"})),),
)


def letters(texts: list[str]) -> list[list[float]]:
    return [[1.0 + text.lower().count(letter) for letter in "abcdefgh"] for text in texts]


@pytest.fixture
def base() -> Iterator[str]:
    server = make_server(letters)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_vector_is_sent_as_numbers_or_packed() -> None:
    plain = answer(b'{"model": "m", "input": "abba"}', letters)
    packed = answer(b'{"model": "m", "input": ["abba"], "encoding_format": "base64"}', letters)
    assert plain["data"] == [{"object": "embedding", "index": 0, "embedding": [3.0, 3.0, 1, 1, 1, 1, 1, 1]}]
    assert packed["data"] == [
        {"object": "embedding", "index": 0, "embedding": "AABAQAAAQEAAAIA/AACAPwAAgD8AAIA/AACAPwAAgD8="}
    ]


@pytest.mark.parametrize(
    "request_", [{}, {"input": []}, {"input": [""]}, {"input": 3}, {"input": "a", "encoding_format": "x"}, []]
)
def test_what_cannot_be_read_is_refused(request_: object) -> None:
    with pytest.raises(Refused):
        answer(json.dumps(request_).encode(), letters)


def test_a_server_that_remembers_makes_no_vector_twice() -> None:
    made: list[str] = []

    def noted(texts: list[str]) -> list[list[float]]:
        made.extend(texts)
        return letters(texts)

    encode = remembering(noted)
    assert encode(["ab", "cd", "ab"]) == letters(["ab", "cd", "ab"])
    assert encode(["cd"]) == letters(["cd"])
    assert made == ["ab", "cd"]


def test_errors_have_the_status_that_clients_expect(base: str) -> None:
    with httpx2.Client() as client:
        assert client.post(f"{base}/embeddings", content=b"no").status_code == 400
        assert client.post(f"{base}/chat/completions", content=b"{}").status_code == 404


def test_a_conversation_is_embedded_from_every_angle_and_asked(base: str, tmp_path: Path) -> None:
    arrangements, one = compared(base)
    five = next(each for each in arrangements if len(each.angles) == 5)
    shelf = Shelf(five, TALK, tmp_path)
    first, *_ = shelf.hits("who is sailing to Ghent?", 2, VECTORS_ONLY)
    assert first.matched_perspective in DEFAULTS
    assert first.similarity is not None
    second = Reranker(one.embedders(), shelf, with_context=False)
    assert {shelf.turns[hit.id] for hit in second.hits("who is sailing to Ghent?", 0.5)} == {"D1:1", "D1:2"}
    tally = Tally("MiniLM, 5 perspectives")
    tally.take(TALK, shelf, lambda question: shelf.hits(question, 2), 1.0)
    shelf.close()
    assert "| MiniLM, 5 perspectives | 1.000 |" in markdown([tally.summary()])


def test_one_angle_is_the_general_one(base: str, tmp_path: Path) -> None:
    _, one = compared(base)
    shelf = Shelf(one, TALK, tmp_path)
    assert {hit.matched_perspective for hit in shelf.hits("sailing", 2)} == {"general"}
    shelf.close()
