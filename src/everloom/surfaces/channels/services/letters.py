"""Letters: what an e-mail says, what it quotes, who proves that it is theirs, and which ones no program may answer.

Pure: reads bytes and decides. Refuses to know mailboxes and how mail is sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import getaddresses
from hashlib import sha256

from everloom.errors import Rejected
from everloom.surfaces.channels.services.formats import as_text
from everloom.surfaces.channels.services.line import with_left_out

# What the email package raises about mails that nobody should have sent.
UNREADABLE = (MessageError, ValueError, LookupError, AttributeError, TypeError, AssertionError, RecursionError)
_ATTACHED = {"image": "a photo", "audio": "a voice message", "video": "a video"}
_SIGNATURES = frozenset(("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"))
_MACHINES = re.compile(r"(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)([+=-].*)?@")
_LISTS = ("list-id", "list-post", "list-unsubscribe", "x-autoreply", "x-autorespond", "x-loop", "feedback-id")
_BULK = frozenset(("auto_reply", "bulk", "junk", "list"))
_ANSWER = re.compile(r"^\s*((re|aw|sv|antw|ref|rv)\s*(\[\d+\])?\s*:\s*)+", re.IGNORECASE)
# How mail programs introduce what they quote, in some of the languages that people write in.
_INTRODUCED = re.compile(
    r"^(on\b.{4,200}\bwrote|am\b.{4,200}\bschrieb\b.{0,120}|le\b.{4,200}\ba écrit\s?|el\b.{4,200}\bescribió"
    r"|il\b.{4,200}\bha scritto|op\b.{4,200}\bschreef\b.{0,120}|den\b.{4,200}\bskrev\b.{0,120}):$",
    re.IGNORECASE,
)
_ORIGINAL = re.compile(
    r"^(-{2,}\s*(original message|ursprüngliche nachricht|message d'origine)\s*-{2,}|_{20,})$", re.IGNORECASE
)
_HIDDEN = re.compile(r'"(?:[^"\\]|\\.)*"|\([^()]*\)')
_VERDICT = re.compile(r"\s*([a-z0-9-]+)\s*=\s*([a-z]+)(.*)", re.IGNORECASE | re.DOTALL)
_PROPERTY = re.compile(r"\bheader\.(d|i|from)\s*=\s*([^\s;]+)", re.IGNORECASE)
_LONGEST_KEY = 150
# Longer headers and bodies are nobody's honest work, and would take long to look through.
_LONGEST_HEADER = 8_000
_LONGEST_BODY = 250_000


@dataclass(frozen=True, slots=True)
class Letter:
    """One mail: who wrote it, what they said and quoted, and what a reply to it needs."""

    sender: str
    subject: str
    text: str
    quote: str
    # Its Message-ID, and one by which it is recognised also if it has none.
    number: str
    key: str
    references: tuple[str, ...]


def parsed(raw: bytes) -> EmailMessage:
    """Parse a mail; headers that nobody writes are cut, because reading them takes the square of their length."""
    mail: EmailMessage = message_from_bytes(raw, policy=policy.default)
    for part in mail.walk():
        known = list(part.raw_items())
        for name in {name for name, value in known if len(value) > _LONGEST_HEADER}:
            values = [str(value) for other, value in known if other == name]
            del part[name]
            for value in values:
                # One character too many, so that what refuses long headers sees one.
                part.set_raw(name, value[: _LONGEST_HEADER + 1])
    return mail


def read_letter(raw: bytes, tag: str = "") -> Letter:
    """Read a mail; Rejected if it is broken. The tag, which is a secret, is taken out of it."""
    try:
        mail = parsed(raw)
        said, quote = divide(_body_of(mail)[:_LONGEST_BODY])
        subject = " ".join(_untagged(str(mail.get("subject") or ""), tag).split())[:200]
        number = _one_line(mail.get("message-id"))
        references = tuple(_one_line(mail.get("references")).split())[-20:]
        is_answer = bool(mail.get("in-reply-to")) or _ANSWER.match(subject) is not None
        text = with_left_out(_untagged(said, tag), [*_attached_to(mail)])
        if subject and not is_answer:
            text = f"Subject: {subject}\n\n{text}".strip()
        return Letter(sender_of(mail), subject, text, _untagged(quote, tag), number, _key_of(number, raw), references)
    except UNREADABLE as error:
        raise Rejected(f"a mail cannot be read ({type(error).__name__})") from None


def sender_of(mail: EmailMessage) -> str:
    """Return the one address that a mail is from; empty if there is none, or more than one."""
    froms = [str(each) for each in mail.get_all("from") or ()]
    found = [address.lower() for _, address in getaddresses(froms) if "@" in address]
    return found[0] if len(froms) == len(found) == 1 else ""


def why_ignored(mail: EmailMessage, own: str) -> str:
    """Say why no program may answer a mail, so that no two of them write to each other for ever; empty if it may."""
    sender = sender_of(mail)
    if not sender:
        return "it has no sender, or several"
    if sender == own.lower():
        return "it is our own"
    if _one_line(mail.get("auto-submitted") or "no").lower().partition(";")[0].strip() != "no":
        return "a program wrote it"
    if _one_line(mail.get("precedence")).lower() in _BULK or any(mail.get(name) for name in _LISTS):
        return "it came by a mailing list or in bulk"
    if _one_line(mail.get("return-path")) == "<>" or mail.get_content_type() == "multipart/report":
        return "it is a report about another mail"
    return "a machine sent it" if _MACHINES.match(sender) else ""


def is_tagged(mail: EmailMessage, tag: str) -> bool:
    """Say whether a mail holds the secret tag, in its subject or behind a plus sign in the address it was sent to."""
    if not tag:
        return False
    to = [str(each) for name in ("to", "cc", "delivered-to") for each in mail.get_all(name) or ()]
    locals_ = [address.partition("@")[0].lower() for _, address in getaddresses(to)]
    return tag in str(mail.get("subject") or "") or any(each.endswith(f"+{tag.lower()}") for each in locals_)


def is_authentic(mail: EmailMessage, server: str) -> bool:
    """Say whether our own mail server found that a mail is from whom it says it is.

    Only the topmost result under the server's name counts: it is the one that the server wrote itself.
    """
    domain = sender_of(mail).rpartition("@")[2]
    for header in mail.get_all("authentication-results") or ():
        if len(header) > _LONGEST_HEADER:
            return False
        first, *results = _visible(_one_line(header)).split(";")
        if first.split()[:1] == [server]:
            return bool(domain) and any(_vouches(str(each), domain) for each in results)
    return False


def _visible(header: str) -> str:
    """Take out comments, also those in others, and quoted texts: they may hold words of the sender."""
    while (rest := _HIDDEN.sub("", header)) != header:
        header = rest
    return header


def _vouches(result: str, domain: str) -> bool:
    found = _VERDICT.fullmatch(result)
    if found is None or found[2].lower() != "pass":
        return False
    named: dict[str, str] = {
        str(kind).lower(): str(value).rpartition("@")[2].lower() for kind, value in _PROPERTY.findall(found[3])
    }
    if found[1].lower() == "dmarc":
        return named.get("from", domain) == domain
    signed = named.get("d") or named.get("i") or ""
    return str(found[1]).lower() == "dkim" and "." in signed and f".{domain}".endswith(f".{signed}")


def answer_subject(subject: str) -> str:
    """Make the subject of an answer."""
    bare = _ANSWER.sub("", subject).strip()
    return f"Re: {bare}" if bare else "Re: your message"


def divide(text: str) -> tuple[str, str]:
    """Divide a body into what was said, without a signature, and what is quoted before or after it.

    If quoted and own lines alternate, everything stays together: the answers mean nothing without the questions.
    """
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    # Two hyphens and a space, of which the space is often lost, begin a signature.
    end = next((place for place, line in enumerate(lines) if place and line == "--"), len(lines))
    own, tail = lines[:end], lines[end:]
    cut = next((place for place, line in enumerate(own) if _begins_quote(own, place)), None)
    if cut is None:
        return "\n".join(own).strip(), _unquoted([line for line in tail if line.startswith(">")])
    after = _end_of_quote(own, cut)
    before, rest = "\n".join(own[:cut]).strip(), "\n".join(own[after:]).strip()
    if (before and rest) or any(line.startswith(">") for line in own[after:]):
        return "\n".join(own).strip(), ""
    return before or rest, _unquoted(own[cut:after])


def _begins_quote(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    if line.startswith(">") or _ORIGINAL.match(line):
        return True
    # The introduction may be broken into two lines.
    joined = f"{line} {lines[place + 1]}" if place + 1 < len(lines) else line
    return any(_INTRODUCED.match(each.strip()) for each in (line, joined))


def _end_of_quote(lines: Sequence[str], cut: int) -> int:
    """Find where what is quoted ends: at the end, unless its lines are marked."""
    marked = [place for place in range(cut, len(lines)) if lines[place].startswith(">")]
    if not marked or _ORIGINAL.match(lines[cut]):
        return len(lines)
    place = marked[0]
    while place < len(lines) and (lines[place].startswith(">") or not lines[place]):
        place += 1
    return place


def _unquoted(lines: Sequence[str]) -> str:
    return "\n".join(re.sub(r"^(>\s?)+", "", line) for line in lines).strip()


def _body_of(mail: EmailMessage) -> str:
    if mail.get_content_type() == "multipart/encrypted":
        return ""
    part = mail.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        content = str(part.get_content())
    except (LookupError, UnicodeError):
        # A character set that nobody knows: what is readable of it is better than nothing.
        payload = part.get_payload(decode=True)
        content = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    return as_text(content) if part.get_content_subtype() == "html" else content


def _attached_to(mail: EmailMessage) -> list[str]:
    if mail.get_content_type() == "multipart/encrypted":
        return ["an encrypted message"]
    if not mail.is_multipart():
        return []
    kinds = [part for part in mail.iter_attachments() if part.get_content_type() not in _SIGNATURES]
    return [_ATTACHED.get(part.get_content_maintype(), "a file") for part in kinds][:20]


def _key_of(number: str, raw: bytes) -> str:
    is_plain = number.isascii() and number.isprintable() and 0 < len(number) <= _LONGEST_KEY
    return number if is_plain else sha256(number.encode("utf-8", "replace") or raw).hexdigest()


def _untagged(text: str, tag: str) -> str:
    if not tag:
        return text
    return re.sub(rf"\s*[\[(]?{re.escape(tag)}[\])]?", "", text, flags=re.IGNORECASE).strip()


def _one_line(value: object) -> str:
    return " ".join(str(value or "").split())
