"""What search keeps of an exchange: its lines, who spoke, when, and what was said just before. Pure.

An exchange in which nobody said anything has no document. A long one is shortened here and whole in the log.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from everloom.kernel.search import Document

KIND = "exchange"
# Below this many letters in all, nothing was said that somebody will look for.
SHORTEST = 20
LONGEST = 6_000
# What was said longer ago belongs to another conversation.
SITTING = timedelta(hours=1)
LONGEST_BEFORE = 600
CUT = " … (cut; the rest is in the log)"
WORD = re.compile(r"[\W_]+")

Speaker = Literal["person", "agent"]

NODS = frozenset(
    """
    ok okay k kk yes yeah yep yup no nope sure fine right alright great good nice cool perfect thanks thx ty cheers bye
    hi hello hey lol haha hm hmm done wow sorry please welcome
    ja jo nein doch danke bitte gut super prima genau klar passt tschüss hallo moin servus
    oui non ouais merci bien daccord salut bonjour parfait voilà
    sí si no vale gracias bueno hola adiós claro perfecto listo
    sì grazie bene va ciao certo perfetto prego
    sim não nao obrigado obrigada tudo bem tchau olá
    nee bedankt dank goed prima hoi doei
    tak nie dzięki dobrze cześć ano ne díky dobře ahoj
    да нет спасибо хорошо ладно привет пока ок
    はい いいえ ありがとう 了解 うん 好 好的 是 不是 谢谢 嗯 네 아니요 감사합니다 شكرا نعم لا
    """.split()
)
PHRASES = frozenset(
    """
    thank you|thanks a lot|thank you very much|you re welcome|you are welcome|got it|sounds good|no problem|of course
    good night|good morning|see you|all right|vielen dank|danke schön|danke dir|gute nacht|guten morgen|alles klar
    kein problem|bis später|bis dann|de rien|d accord|bonne nuit|à plus|ça marche|muchas gracias|de nada|buenas noches
    está bien|va bene|di niente|buona notte|de acordo|muito obrigado|boa noite|dank je|graag gedaan|dziękuję bardzo
    nie ma za co|не за что|спокойной ночи|どういたしまして|ありがとうございます
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)


@dataclass(frozen=True, slots=True)
class Line:
    """One message of an exchange."""

    speaker: Speaker
    channel: str
    text: str
    at: datetime


def is_trivial(text: str) -> bool:
    """Say whether a message only nods: thanks, yes, a smile."""
    plain = WORD.sub(" ", unicodedata.normalize("NFC", text).casefold()).strip()
    words = plain.split()
    return plain in PHRASES or (len(words) <= 3 and all(word in NODS for word in words))


def is_worth_keeping(lines: Sequence[Line]) -> bool:
    """Say whether anybody said anything in an exchange."""
    letters = sum(len(line.text.strip()) for line in lines)
    return letters >= SHORTEST and not all(is_trivial(line.text) for line in lines)


def document_of(lines: Sequence[Line], zone: ZoneInfo, before: Sequence[Line] = ()) -> Document | None:
    """Write an exchange as search sees it; None when every message is trivial.

    What was said just before, given newest first, surrounds it: "yes, the green one" is an answer to something.
    """
    if not lines or not is_worth_keeping(lines):
        return None
    began = lines[0].at.astimezone(zone)
    near = [line.text.strip() for line in before if lines[0].at - line.at <= SITTING and not is_trivial(line.text)]
    room = room_for([len(text) for text in near], LONGEST_BEFORE)
    channels = tuple(dict.fromkeys(line.channel for line in lines if line.channel))
    return Document(
        kind=KIND,
        title=f"Conversation of {began:%Y-%m-%d %H:%M}, {began:%A}",
        text=told(lines, zone, LONGEST),
        context="\n".join(text[:room] for text in near),
        details=" ".join(channels),
        happened_at=lines[-1].at,
    )


def told(lines: Sequence[Line], zone: ZoneInfo, longest: int) -> str:
    """Write an exchange line by line with local times, in at most about `longest` characters."""
    room = room_for([len(line.text) for line in lines], longest)
    return "\n".join(
        f"[{line.at.astimezone(zone):%H:%M}] {line.speaker}: {within(line.text.strip(), room)}" for line in lines
    )


def room_for(lengths: Sequence[int], longest: int) -> int:
    """Say how long each line may be, so that short ones stay whole and long ones share what is left."""
    left, room = longest, longest
    for count, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        room = left // count
        if length > room:
            return max(room, 1)
        left -= length
    return max(room, *lengths, 1)


def within(text: str, room: int) -> str:
    """Shorten a text to its room, and say so."""
    return text if len(text) <= room else f"{text[:room].rstrip()}{CUT}"
