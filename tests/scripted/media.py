"""What Anthropic's documentation asks of pictures and documents in a request; each breach is a sentence.

Pure, and independent of the client: reads the first bytes of what is sent, and knows the published limits.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]
MOST_IMAGE_BYTES, MOST_REQUEST_BYTES = 5 * 1024 * 1024, 32 * 1024 * 1024
MOST_SIDE, MOST_IMAGES = 8_000, 100
SIGNS = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


def complaints_about_media(messages: list[Body], size: int) -> Iterator[str]:
    """Hold every image and document block against the documentation."""
    if size > MOST_REQUEST_BYTES:
        yield "request_too_large: request exceeds the maximum size"
    images = 0
    for place, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        for at, block in enumerate(blocks):
            if block["type"] not in ("image", "document"):
                continue
            where = f"messages.{place}.content.{at}.{block['type']}.source"
            images += block["type"] == "image"
            if message["role"] != "user":
                yield f"messages.{place}.content.{at}: {block['type']} blocks are only permitted in user messages"
            if unknown := set(block) - {"type", "source", "title", "context", "citations", "cache_control"}:
                yield f"messages.{place}.content.{at}.{block['type']}.{min(unknown)}: extra inputs are not permitted"
            yield from _source(block, where)
    if images > MOST_IMAGES:
        yield f"too many images: {images} > {MOST_IMAGES}"


def _source(block: Body, where: str) -> Iterator[str]:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        yield f"{where}.type: input should be 'base64' here"
        return
    if set(source) != {"type", "media_type", "data"}:
        yield f"{where}: fields must be type, media_type and data"
        return
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        yield f"{where}.base64.data: invalid base64 data"
        return
    if not data:
        yield f"{where}.base64.data: must not be empty"
    elif block["type"] == "document":
        if source["media_type"] != "application/pdf":
            yield f"{where}.base64.media_type: input should be 'application/pdf'"
        elif not data.startswith(b"%PDF-"):
            yield f"{where}.base64.data: the PDF specified was not valid"
    else:
        yield from _image(source["media_type"], data, len(source["data"]), where)


def _image(media_type: str, data: bytes, encoded: int, where: str) -> Iterator[str]:
    if media_type not in SIGNS:
        yield f"{where}.base64.media_type: input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        return
    if encoded > MOST_IMAGE_BYTES:
        yield f"{where}.base64: image exceeds 5 MB maximum: {encoded} bytes > {MOST_IMAGE_BYTES} bytes"
    if not data.startswith(SIGNS[media_type]) or (media_type == "image/webp" and data[8:12] != b"WEBP"):
        yield f"{where}.base64.data: the image does not appear to be a {media_type} image"
        return
    if media_type == "image/png":
        width, height = struct.unpack(">II", data[16:24]) if len(data) >= 33 else (0, 0)
        if not width or not height:
            yield f"{where}.base64.data: could not process image"
        elif max(width, height) > MOST_SIDE:
            yield f"{where}.base64.data: image dimensions exceed the maximum of {MOST_SIDE} pixels"
