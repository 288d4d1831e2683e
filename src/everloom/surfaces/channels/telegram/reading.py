"""What a Telegram message says: its words, what it refers to, the files that it brings, and other things in words.

Reads the documented fields and believes none of them. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# What a bot can download from Telegram.
MOST_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class TelegramFile:
    """A file that Telegram has."""

    file_id: str
    name: str
    size: int = 0
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class TelegramWords:
    """What was said; without words and files it is nothing that anybody could answer."""

    text: str
    quote: str = ""
    files: tuple[TelegramFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to answer."""
        return not self.text.strip() and not self.files


def read_message(message: Mapping[str, Any], most: int = MOST_BYTES) -> TelegramWords:
    """Read a message; of a photo, the largest size of at most so many bytes."""
    said = _text(message, "text") or _text(message, "caption")
    others = [told for name, tell in _OTHERS.items() if (told := tell(_part(message, name)))]
    words = "\n".join(filter(None, [_forwarded(message), said, *others]))
    return TelegramWords(words, _quote(message), tuple(_files(message, min(most, MOST_BYTES))))


def _part(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = message.get(name)
    return found if isinstance(found, dict) else {}


def _text(part: Mapping[str, Any], name: str) -> str:
    found = part.get(name)
    return found if isinstance(found, str) else ""


def _number(part: Mapping[str, Any], name: str) -> int:
    found = part.get(name)
    return found if isinstance(found, int) else 0


def _quote(message: Mapping[str, Any]) -> str:
    """Return what was marked of an earlier message, or all that it says."""
    earlier = _part(message, "reply_to_message")
    said = _text(_part(message, "quote"), "text") or _text(earlier, "text") or _text(earlier, "caption")
    if said or not earlier:
        return said
    return next((f"({name})" for name in (*_FILES, "photo", "sticker") if earlier.get(name)), "")


def _forwarded(message: Mapping[str, Any]) -> str:
    origin = _part(message, "forward_origin")
    if not origin:
        return ""
    chat = _part(origin, "chat") or _part(origin, "sender_chat")
    name = (
        _text(origin, "sender_user_name") or _text(_part(origin, "sender_user"), "first_name") or _text(chat, "title")
    )
    return f"(forwarded from {' '.join(name.split())})" if name else "(forwarded)"


_FILES = {
    "document": "document",
    "audio": "audio",
    "voice": "voice.ogg",
    "video": "video.mp4",
    "video_note": "video note.mp4",
}


def _files(message: Mapping[str, Any], most: int) -> Iterator[TelegramFile]:
    if (photo := _photo(message, most)) is not None:
        yield photo
    for name, usual in _FILES.items():
        part = _part(message, name)
        if file_id := _text(part, "file_id"):
            called = _text(part, "file_name") or _text(part, "title") or usual
            yield TelegramFile(file_id, called, _number(part, "file_size"), _number(part, "duration"))


def _photo(message: Mapping[str, Any], most: int) -> TelegramFile | None:
    sizes = message.get("photo")
    known = (
        [each for each in sizes if isinstance(each, dict) and _text(each, "file_id")] if isinstance(sizes, list) else []
    )
    if not known:
        return None
    # If none fits, the smallest says that there was one.
    fitting = [each for each in known if _number(each, "file_size") <= most] or known[:1]
    best = max(fitting, key=lambda each: _number(each, "width") * _number(each, "height"))
    return TelegramFile(best["file_id"], "photo.jpg", _number(best, "file_size"))


def _sticker(part: Mapping[str, Any]) -> str:
    return f"(a sticker {_text(part, 'emoji')})".replace(" )", ")") if part else ""


def _location(part: Mapping[str, Any]) -> str:
    return f"(a location: {part.get('latitude')}, {part.get('longitude')})" if part else ""


def _venue(part: Mapping[str, Any]) -> str:
    return f"(a place: {_text(part, 'title')}, {_text(part, 'address')})" if part else ""


def _contact(part: Mapping[str, Any]) -> str:
    name = f"{_text(part, 'first_name')} {_text(part, 'last_name')}".strip()
    return f"(a contact: {name}, {_text(part, 'phone_number')})" if part else ""


def _poll(part: Mapping[str, Any]) -> str:
    options = part.get("options")
    said = [_text(each, "text") for each in options if isinstance(each, dict)] if isinstance(options, list) else []
    return f"(a poll: {_text(part, 'question')} {' / '.join(said)})" if part else ""


def _dice(part: Mapping[str, Any]) -> str:
    return f"({_text(part, 'emoji')} shows {_number(part, 'value')})" if part else ""


_OTHERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "sticker": _sticker,
    "location": _location,
    "venue": _venue,
    "contact": _contact,
    "poll": _poll,
    "dice": _dice,
}
