"""What a file is, by its first bytes and never by its name; how large a picture is, without unpacking it. Pure."""

from __future__ import annotations

import re
import struct
from math import ceil

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PDF, TEXT, OTHER = "application/pdf", "text/plain", "application/octet-stream"
# The longest side of a picture that models take.
LONGEST_SIDE = 8_000
# So much of a text file is read; the rest stays in the file.
LONGEST_TEXT = 20_000

_SIGNS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_FTYP = {
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"heic": "image/heic",
    b"mif1": "image/heic",
    b"avif": "image/avif",
}
_MPEG = re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]")
# Where a PDF may begin, as readers take it.
_PDF_REACH = 1_024
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
# The marks in a JPEG that say how large it is.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset({0x01, 0xFF, *range(0xD0, 0xD9)})
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# What a model takes for a picture: a token for 750 pixels, and at most so many, because it is scaled down before.
_PIXELS_A_TOKEN, _MOST_IMAGE_TOKENS = 750, 4_800
_PAGE_TOKENS, _MOST_PAGES, _PAGE_BYTES = 2_500, 100, 60_000


def recognise(data: bytes) -> str:
    """Recognise the media type of a file."""
    for sign, media_type in _SIGNS:
        if data.startswith(sign):
            return media_type
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], OTHER)
    if data[4:8] == b"ftyp":
        return _FTYP.get(data[8:12], "video/mp4")
    if b"%PDF-" in data[:_PDF_REACH]:
        return PDF
    if _MPEG.match(data):
        return "audio/mpeg"
    return TEXT if _is_text(data) else OTHER


def _is_text(data: bytes) -> bool:
    # The beginning is enough, and may end in the middle of a character.
    try:
        begun = data[:65_536].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < min(len(data), 65_536) - 4:
            return False
        begun = data[: error.start].decode("utf-8")
    return bool(begun.strip()) and not _CONTROL.search(begun)


def text_of(data: bytes) -> str:
    """Read a text file, as far as it is read."""
    text = data[: LONGEST_TEXT * 4].decode("utf-8", "replace").lstrip("\ufeff")
    text = _CONTROL.sub("", text)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}\n(cut here; the rest is in the file)"


def sides_of(data: bytes, media_type: str) -> tuple[int, int]:
    """Read the width and the height of a picture from its header; 0, 0 if it does not say."""
    try:
        match media_type:
            case "image/png":
                width, height = struct.unpack(">II", data[16:24])
            case "image/gif":
                width, height = struct.unpack("<HH", data[6:10])
            case "image/webp":
                width, height = _webp_sides(data)
            case "image/jpeg":
                width, height = _jpeg_sides(data)
            case _:
                return 0, 0
    except (struct.error, IndexError):
        return 0, 0
    return width, height


def _webp_sides(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            packed = int.from_bytes(data[21:25], "little")
            return 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def _jpeg_sides(data: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 < len(data):
        if data[place] != 0xFF:
            return 0, 0
        mark = data[place + 1]
        if mark in _FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        # A fill byte, or a mark without a length.
        if mark in _BARE:
            place += 1 if mark == 0xFF else 2
            continue
        (length,) = struct.unpack(">H", data[place + 2 : place + 4])
        place += 2 + max(length, 2)
    return 0, 0


def is_visible(data: bytes, media_type: str) -> bool:
    """Say whether a model that can see may be shown a file: a whole picture of a sane size, or a PDF."""
    width, height = sides_of(data, media_type)
    is_sane = 0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE
    return media_type == PDF or (media_type in IMAGES and is_sane)


def tokens_of(data: bytes, media_type: str) -> int:
    """Estimate what a model takes for a picture or a PDF, too many rather than too few; 0 for what is not shown."""
    if media_type == PDF:
        # Pages may be packed away where nobody can count them without unpacking.
        pages = len(_PAGE.findall(data)) or ceil(len(data) / _PAGE_BYTES)
        return min(pages, _MOST_PAGES) * _PAGE_TOKENS
    width, height = sides_of(data, media_type)
    return min(ceil(width * height / _PIXELS_A_TOKEN) + 10, _MOST_IMAGE_TOKENS) if width and height else 0
