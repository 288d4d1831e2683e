"""What comes with messages: kept by its content, shown to the model, found again, and gone when it is forgotten."""

from __future__ import annotations

import hashlib
import stat
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from everloom.errors import StoreError
from everloom.kernel.forgetting.tombstones import recognised
from everloom.mind import IncomingFile, IncomingMessage, StreamMessage
from everloom.mind.ports import AttachmentBounds
from everloom.mind.senses import kinds
from everloom.mind.senses.attachments import bounded
from everloom.models.talk import MediaBlock
from tests.mind.worlds import World, conversation_in
from tests.models.test_media import PDF, png
from tests.scripted.speech import says

OGG = b"OggS\x00\x02" + bytes(40)


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


def files_of(world: World) -> list[Path]:
    root = world.setup.attachments
    assert root is not None
    return sorted(each for each in root.iterdir() if each.is_file()) if root.is_dir() else []


def send(world: World, text: str, *files: IncomingFile, **more: str) -> StreamMessage:
    message = IncomingMessage(text=text, channel="telegram", is_whole=True, attachments=files, **more)  # type: ignore[arg-type]
    return world.conversation.take(message)


def photo(name: str = "boat.png", side: int = 2) -> IncomingFile:
    return IncomingFile(name=name, data=png(side, 2))


@pytest.mark.promise("mind.attachments-kept")
def test_a_file_is_kept_by_its_hash_for_its_owner_alone_and_a_name_is_never_a_path(world: World) -> None:
    sent = send(world, "", IncomingFile(name="../../etc/passwd.png", data=png()), photo())
    known = hashlib.sha256(png()).hexdigest()
    assert [(each.hash, each.media_type, each.size) for each in sent.attachments] == [
        (known, "image/png", len(png()))
    ] * 2
    (file,) = files_of(world)
    assert (file.name, file.read_bytes()) == (known, png())
    assert [stat.S_IMODE(each.stat().st_mode) for each in (file, file.parent)] == [0o600, 0o700]
    assert world.again().waiting() == [sent]
    # Delivered again after a restart, it is one message.
    keyed = [send(world, "", photo(), key="7") for _ in range(2)]
    assert keyed[0] == keyed[1]


@pytest.mark.promise("mind.attachments-kept")
def test_a_file_is_durable_before_its_message_and_without_it_nothing_is_said_to_be_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise StoreError("the disk is full")

    monkeypatch.setattr("everloom.mind.senses.files.write_whole", fail)
    with pytest.raises(StoreError):
        send(world, "my boat", photo())
    assert (world.conversation.log(), files_of(world)) == ([], [])


@pytest.mark.promise("mind.attachments-shown")
def test_the_model_sees_pictures_and_documents_and_reads_texts(world: World) -> None:
    files = (photo(), IncomingFile(name="deed.pdf", data=PDF), IncomingFile(name="log.csv", data=b"day,knots\n1,5\n"))
    send(world, "What do you see?", *files, IncomingFile(name="x.bin", data=b"\x00\x01"), quote="Show me.\nNow.")
    assert world.conversation.step() is not None
    image, document, text = world.server.talks[-1]["messages"][-1]["content"]
    assert (image["type"], document["type"]) == ("image", "document")
    said = text["text"]
    assert "] (in reply to)\n> Show me.\n> Now.\n\nWhat do you see?\n(attached: boat.png, image/png" in said
    assert "it says:)\n<attachment-" in said
    assert "> day,knots\n> 1,5" in said
    assert "(attached: x.bin, application/octet-stream, 2 bytes; you cannot open it)" in said
    world.exchange("And now?")
    first, _, last = world.server.talks[-1]["messages"]
    assert [block["type"] for block in first["content"]] == ["image", "document", "text"]
    assert [block["type"] for block in last["content"]] == ["text"]
    world.assert_valid()
    rows = " ".join(str(row["blocks"]) for row in world.rows("array_entry"))
    assert hashlib.sha256(png()).hexdigest() in rows
    assert "iVBOR" not in rows, "the array holds references, never bytes"


def test_the_array_gives_back_what_it_was_given_and_a_lost_file_is_told(world: World) -> None:
    send(world, "my boat", photo())
    world.conversation.step()
    block = world.again().turns()[0].blocks[0]
    assert isinstance(block, MediaBlock)
    assert (block.name, block.media_type, block.tokens > 0) == ("boat.png", "image/png", True)
    files_of(world)[0].write_bytes(b"damaged")
    world.exchange("And now?")
    assert "you cannot see it" in world.server.talks[-1]["messages"][0]["content"][0]["text"]
    # Somebody sends it again, and it is whole again.
    send(world, "once more", photo())
    assert files_of(world)[0].read_bytes() == png()


@pytest.mark.promise("mind.attachments-bounded")
def test_what_is_too_much_is_left_out_and_said(world: World) -> None:
    bounds = AttachmentBounds(file_bytes=100, message_bytes=150, workspace_bytes=220, files=3)
    world.conversation = conversation_in(replace(world.setup, bounds=bounds), world.left)
    large, small = IncomingFile(name="large.txt", data=b"x" * 101), IncomingFile(name="small.txt", data=b"y" * 90)
    sent = send(
        world, "look", large, small, replace(small, data=b"z" * 61), IncomingFile(name="lost", note="it is gone")
    )
    assert [each.note for each in sent.attachments] == [
        "a file may have 100 bytes (attachments.file_mb)",
        "",
        "the files of a message may have 150 bytes (attachments.message_mb)",
        "it is gone",
    ]
    assert [each.hash != "" for each in sent.attachments] == [False, True, False, False]
    full = send(world, "more", *(IncomingFile(name="b", data=bytes([65 + at]) * 60) for at in range(3)))
    assert [bool(each.note) for each in full.attachments] == [False, False, True]
    assert len(files_of(world)) == 3
    third = send(world, "", IncomingFile(name="c", data=b"w" * 60))
    assert "attachments.workspace_mb" in third.attachments[0].note
    world.conversation.step()
    assert "(left out: large.txt, 101 bytes: a file may have" in str(world.server.talks[-1]["messages"])
    many = bounded([photo()] * 5, AttachmentBounds(files=2), 0)
    assert [each.note[:20] for each in many] == ["", ""] + ["a message may bring "] * 3


@pytest.mark.promise("mind.attachments-found")
def test_an_exchange_is_found_by_the_caption_and_by_the_words_in_a_file(world: World) -> None:
    send(world, "the green boat of my uncle in Bergen", photo("IMG_2.png"))
    photographed = world.conversation.step()
    world.later(hours=2)
    send(world, "", IncomingFile(name="recipe.txt", data=b"Saffron buns need cardamom and raisins."))
    cooked = world.conversation.step()
    assert photographed is not None
    assert cooked is not None
    assert world.found("the photo of the green boat")[0] == photographed.id
    assert world.found("which buns need saffron and cardamom?")[0] == cooked.id
    assert [each.attachments[0].name for each in world.conversation.log(query="cardamom")] == ["recipe.txt"]


@pytest.mark.promise("mind.attachments-forgotten")
def test_a_forgotten_message_takes_its_files_unless_another_has_the_same(world: World) -> None:
    first = send(
        world, "my secret boat", photo(), IncomingFile(name="plan.txt", data=b"a plan of the harbour"), key="7"
    )
    second = send(world, "the boat again", photo("again.png"))
    place = world.loom.workspace(world.setup.op.workspace.name)

    def forget(message: StreamMessage) -> None:
        plan = place.forget([message.id])
        place.forget([message.id], confirm=plan.confirm)

    quoting = send(world, "Why?", quote="my secret boat, a plan of the harbour, zanzibar")
    send(world, "zanzibar")
    forget(first)
    assert world.conversation.get(quoting.id).quote == ""
    assert [each.read_bytes() for each in files_of(world)] == [png()]
    assert world.conversation.get(second.id).attachments[0].hash
    forget(second)
    assert files_of(world) == []
    assert world.rows("attachment") == []
    # Delivered again, it stays forgotten, and so do its files.
    with place.op.read() as unit:
        assert recognised(unit, ["message telegram 7"])
    assert send(world, "my secret boat", photo(), key="7").state == "withdrawn"
    assert files_of(world) == []


def test_a_file_whose_message_never_came_is_removed_by_the_next_process(world: World) -> None:
    send(world, "my boat", photo())
    root = world.setup.attachments
    assert root is not None
    (root / hashlib.sha256(b"orphan").hexdigest()).write_bytes(b"orphan")
    (root / ".abc.partial").write_bytes(b"half")
    world.again().recover("telegram")
    assert [each.name for each in files_of(world)] == [hashlib.sha256(png()).hexdigest()]


def test_a_summary_drops_pictures_from_the_request_and_names_them(world: World) -> None:
    world.server.capabilities = ()
    world.again(compact_at=1_000)
    send(world, "my boat " * 20, photo())
    world.conversation.step()
    for count in range(6):
        world.server.script(says(f"{count} " + "words and words " * 60))
        world.exchange("go on " * 40)
    assert world.conversation.compactions()
    told = [str(talk["messages"]) for talk in world.server.talks if "Answer with that text" in str(talk["messages"])]
    assert any("Person showed: boat.png, image/png" in each for each in told)
    assert "image" not in str([block for turn in world.server.talks[-1]["messages"] for block in turn["content"]][:1])
    world.assert_valid()


def test_a_media_type_is_what_the_content_says() -> None:
    cases = {
        png(): "image/png",
        b"\xff\xd8\xff\xe0rest": "image/jpeg",
        b"GIF89a....": "image/gif",
        b"RIFF\x00\x00\x00\x00WEBPVP8 ": "image/webp",
        b"RIFF\x00\x00\x00\x00WAVEfmt ": "audio/wav",
        OGG: "audio/ogg",
        b"\x00\x00\x00\x20ftypM4A ": "audio/mp4",
        b"\x00\x00\x00\x20ftypisom": "video/mp4",
        b"\xff\xfb\x90\x00": "audio/mpeg",
        PDF: "application/pdf",
        b"PK\x03\x04": "application/zip",
        "Grüße, 世界".encode(): "text/plain",
        ("x" * 65_535 + "世").encode(): "text/plain",
        b"MZ\x00\x90": "application/octet-stream",
        b"\xff\xfe\x00\x00": "application/octet-stream",
    }
    assert {data[:12]: kinds.recognise(data) for data in cases} == {data[:12]: kind for data, kind in cases.items()}


def test_the_size_of_a_picture_is_read_from_its_header_alone() -> None:
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 480, 640) + b"\x03" * 20
    extended = b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + (99).to_bytes(3, "little") + (49).to_bytes(3, "little")
    cases = [
        (png(7, 5), "image/png", (7, 5)),
        (b"GIF89a" + struct.pack("<HH", 3, 4), "image/gif", (3, 4)),
        (jpeg, "image/jpeg", (640, 480)),
        (extended, "image/webp", (100, 50)),
        (png()[:18], "image/png", (0, 0)),
        (b"\xff\xd8\xff" + b"\xff" * 500, "image/jpeg", (0, 0)),
    ]
    for data, kind, sides in cases:
        assert kinds.sides_of(data, kind) == sides, kind
    # A header may claim anything: nothing is unpacked, and no model is shown it.
    bomb = png()[:16] + struct.pack(">II", 60_000, 60_000) + png()[24:]
    assert not kinds.is_visible(bomb, "image/png")
    assert not kinds.is_visible(png()[:18], "image/png")
    assert kinds.tokens_of(png(2_000, 1_000), "image/png") == 2_677
    assert kinds.tokens_of(PDF * 3, "application/pdf") == 7_500
