"""What models are shown of pictures and documents: as each provider documents it, or in words."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest

from everloom.errors import ProviderError
from everloom.models.providers import make_talker
from everloom.models.talk import MediaBlock, ReadMedia, TalkRequest, TextBlock, Turn
from tests.models.conftest import access_to
from tests.scripted.claude import ClaudeServer
from tests.scripted.media import complaints_about_media
from tests.scripted.speech import fails, says
from tests.scripted.streams import StreamServer

CLAUDE, OPENAI, OLLAMA = "anthropic:claude-sonnet-5-5", "openai:some-model", "ollama:some-model"


def png(width: int = 2, height: int = 2) -> bytes:
    """Make a real picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\x80" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PDF = b"%PDF-1.4\n1 0 obj << /Type /Page >> endobj\n%%EOF\n"


def block_of(data: bytes, media_type: str, name: str, text: str = "") -> MediaBlock:
    return MediaBlock(hashlib.sha256(data).hexdigest(), media_type, name, len(data), 300, text)


PICTURE, PAPER = block_of(png(), "image/png", "boat.png"), block_of(PDF, "application/pdf", "deed.pdf", "The deed.")
KEPT = {PICTURE.hash: png(), PAPER.hash: PDF}


def request_of(*blocks: MediaBlock, read: ReadMedia = KEPT.get) -> TalkRequest:
    return TalkRequest("Be kind.", (Turn("user", (*blocks, TextBlock("What is this?"))),), media=read)


@pytest.mark.promise("mind.media-shown")
def test_claude_sees_pictures_and_documents_as_blocks(claude: ClaudeServer) -> None:
    talker = make_talker(CLAUDE, access=access_to(claude.url))
    talker.talk(request_of(PICTURE, PAPER))
    image, document, text = claude.talks[-1]["messages"][0]["content"]
    assert base64.b64decode(image["source"]["data"]) == png()
    assert (image["type"], image["source"]["media_type"]) == ("image", "image/png")
    assert (document["type"], document["source"]["media_type"]) == ("document", "application/pdf")
    assert text["text"] == "What is this?"
    first = claude.heard[-1].body["messages"]
    talker.talk(request_of(PICTURE, PAPER))
    assert claude.heard[-1].body["messages"] == first  # byte by byte, or no cache would hold


@pytest.mark.promise("mind.media-told")
def test_what_is_gone_too_large_or_of_another_type_is_told_in_words(claude: ClaudeServer) -> None:
    talker = make_talker(CLAUDE, access=access_to(claude.url))
    talker.talk(request_of(replace(PICTURE, size=4_000_000), replace(PAPER, media_type="image/tiff"), read=KEPT.get))
    large, other, _ = claude.talks[-1]["messages"][0]["content"]
    assert large["text"] == "(boat.png, image/png, 4.0 MB: you cannot see it; say so if it matters)"
    assert "> The deed." in other["text"]
    talker.talk(request_of(PICTURE, read=lambda _: None))
    assert "you cannot see it" in claude.talks[-1]["messages"][0]["content"][0]["text"]


@pytest.mark.promise("mind.media-told")
def test_a_picture_that_is_refused_is_told_in_words_and_older_ones_stay(claude: ClaudeServer) -> None:
    talker = make_talker(CLAUDE, access=access_to(claude.url))
    old = png(3, 3)
    older = block_of(old, "image/png", "old.png")
    request = request_of(PICTURE, read={**KEPT, older.hash: old}.get)
    turns = (Turn("user", (older, TextBlock("Look."))), Turn("assistant", (TextBlock("I see."),)), *request.turns)
    claude.script(fails(400, "messages.2.content.0.image.source.base64.data: Could not process image"), says("A boat."))
    assert talker.talk(replace(request, turns=turns)).turn.text == "A boat."
    kinds = [[block["type"] for block in message["content"]] for message in claude.talks[-1]["messages"]]
    assert kinds == [["image", "text"], ["text"], ["text", "text"]]
    talker.talk(replace(request, turns=turns))
    assert len(claude.talks) == 3, "it was not shown again"


def test_a_rejection_for_another_reason_stays_one(claude: ClaudeServer) -> None:
    talker = make_talker(CLAUDE, access=access_to(claude.url))
    claude.script(fails(400, "prompt is too long: 300000 tokens > 200000 maximum"))
    with pytest.raises(ProviderError, match="too long"):
        talker.talk(request_of(PICTURE))


@pytest.mark.promise("mind.media-shown")
def test_compatible_servers_get_data_urls_and_files(streams: StreamServer) -> None:
    talker = make_talker(OPENAI, access=access_to(streams.url))
    talker.talk(request_of(PICTURE, PAPER))
    image, file, text = streams.talks[-1]["messages"][1]["content"]
    assert image["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    assert file["file"]["filename"] == "deed.pdf"
    assert text == {"type": "text", "text": "What is this?"}


@pytest.mark.promise("mind.media-told")
def test_a_server_without_eyes_is_told_in_words_and_soon_no_longer_asked(streams: StreamServer) -> None:
    streams.has_eyes = False
    talker = make_talker(OPENAI, access=access_to(streams.url))
    kept = {block_of(data, "image/png", "x.png").hash: data for data in (png(2, side) for side in range(1, 6))}
    for known, data in kept.items():
        talker.talk(request_of(replace(PICTURE, hash=known, size=len(data)), read=kept.get))
        assert "boat.png, image/png" in streams.talks[-1]["messages"][1]["content"]
    assert len(streams.talks) == 5 + 3
    streams.complaints.clear()


@pytest.mark.promise("mind.media-shown")
def test_ollama_gets_images_if_the_model_sees(streams: StreamServer) -> None:
    streams.shown = {"parameters": "", "model_info": {}, "capabilities": ["completion", "vision"]}
    make_talker(OLLAMA, access=access_to(streams.url)).talk(request_of(PICTURE, PAPER))
    message = streams.talks[-1]["messages"][1]
    assert message["images"] == [base64.b64encode(png()).decode()]
    assert "> The deed." in message["content"]
    streams.shown = {"parameters": "", "model_info": {}, "capabilities": ["completion"]}
    make_talker(OLLAMA, access=access_to(streams.url)).talk(request_of(PICTURE))
    message = streams.talks[-1]["messages"][1]
    assert "images" not in message
    assert "boat.png" in message["content"]


def test_an_estimate_counts_what_is_shown() -> None:
    assert request_of(PICTURE).estimate() >= request_of().estimate() + 300


def test_the_scripted_claude_refuses_what_the_documentation_forbids() -> None:
    def breaches(role: str = "user", **block: Any) -> str:
        return "; ".join(complaints_about_media([{"role": role, "content": [block]}], 10))

    def source(data: bytes | str, media_type: str = "image/png") -> dict[str, Any]:
        written = data if isinstance(data, str) else base64.b64encode(data).decode()
        return {"type": "base64", "media_type": media_type, "data": written}

    assert breaches(type="image", source=source(png())) == ""
    assert breaches(type="document", source=source(PDF, "application/pdf")) == ""
    wrong = {
        "only permitted in user": breaches("assistant", type="image", source=source(png())),
        "invalid base64": breaches(type="image", source=source("%%%")),
        "does not appear to be": breaches(type="image", source=source(png(), "image/jpeg")),
        "media_type": breaches(type="image", source=source(png(), "image/tiff")),
        "dimensions": breaches(type="image", source=source(png(9_000, 1))),
        "5 MB": breaches(type="image", source=source(png() + b"x" * 6_000_000)),
        "PDF specified": breaches(type="document", source=source(png(), "application/pdf")),
        "extra inputs": breaches(type="image", source=source(png()), name="boat.png"),
        "must not be empty": breaches(type="image", source=source(b"")),
    }
    assert {said: said in found for said, found in wrong.items()} == dict.fromkeys(wrong, True)
