"""E-mail: a mailbox that is read over IMAP from where the last run ended, and replies over SMTP.

A mail counts only if its sender is allowed, and proves it: From can be forged by anybody. What programs send is never
answered. Refuses to know what a mail says; `letters` reads it.
"""

from __future__ import annotations

import imaplib
import smtplib
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from everloom.errors import Forbidden, Rejected
from everloom.mind import IncomingMessage
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Undelivered, Unsure
from everloom.surfaces.channels.services.calls import ServiceBusy
from everloom.surfaces.channels.services.formats import as_html
from everloom.surfaces.channels.services.letters import (
    UNREADABLE,
    Letter,
    answer_subject,
    is_authentic,
    is_tagged,
    parsed,
    read_letter,
    sender_of,
    why_ignored,
)
from everloom.surfaces.channels.services.line import ServiceLine

if TYPE_CHECKING:
    from everloom.sections import EmailSettings
    from everloom.surfaces.channels.contract import ChannelSetup

log = logger_of(__name__)

_SECONDS = 30.0
_PORTS = {"imaps": 993, "imap": 143, "smtps": 465, "smtp": 587}
_LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))
# A larger mail is not loaded; what makes it large is no text.
_MOST_BYTES = 25_000_000
# How far back a mailbox is read that has been made anew; what was read before is recognised by its Message-ID.
_DAYS_BACK = 14
_LONGEST_SUBJECT = 60


@dataclass(frozen=True, slots=True)
class MailHost:
    """Where mail is fetched or sent, and with which name and password."""

    kind: str
    host: str
    port: int
    user: str
    password: str

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, where encryption protects nobody."""
        return self.host in _LOOPBACK

    def cleaned(self, error: object) -> str:
        """Write what a server said, without the password."""
        said = error if isinstance(error, bytes) else str(error).encode()
        return said.decode("utf-8", "replace").replace(self.password, "…")[:200]


class Mailbox:
    """One folder of a mailbox, open for reading."""

    def __init__(self, host: MailHost, folder: str) -> None:
        self._host = host
        self._box = self._connect()
        try:
            self._log_in()
            self.validity, self.following = self._select(folder)
        except Exception:
            self.close()
            raise

    def _connect(self) -> imaplib.IMAP4:
        known = self._host
        try:
            if known.kind == "imaps":
                return imaplib.IMAP4_SSL(
                    known.host, known.port, ssl_context=ssl.create_default_context(), timeout=_SECONDS
                )
            box = imaplib.IMAP4(known.host, known.port, timeout=_SECONDS)
            if not known.is_local or "STARTTLS" in box.capabilities:
                box.starttls(ssl.create_default_context())
        except (OSError, imaplib.IMAP4.error) as error:
            raise ServiceBusy(f"email.imap cannot be reached ({type(error).__name__})") from None
        return box

    def _log_in(self) -> None:
        try:
            self._box.login(self._host.user, self._host.password)
        except imaplib.IMAP4.abort as error:
            raise ServiceBusy(f"email.imap closed the connection ({type(error).__name__})") from None
        except imaplib.IMAP4.error as error:
            said = self._host.cleaned(error.args[0] if error.args else "")
            if "[UNAVAILABLE]" in said:
                raise ServiceBusy(f"email.imap is not available: {said}") from None
            hint = "compare email.user and EVERLOOM_EMAIL_PASSWORD; many providers want a password for programs"
            raise Forbidden(f"email.imap refused to log in: {said}", hint=hint) from None
        except OSError as error:
            raise ServiceBusy(f"email.imap does not answer ({type(error).__name__})") from None

    def _select(self, folder: str) -> tuple[int, int]:
        escaped = folder.replace("\\", "\\\\").replace('"', '\\"')
        kind, said = self._ask("select", f'"{escaped}"')
        if kind != "OK":
            raise Rejected(f"email.folder {folder!r} cannot be opened: {self._host.cleaned(said[0] or b'')}")
        return self._number("UIDVALIDITY"), self._number("UIDNEXT")

    def _number(self, name: str) -> int:
        _, said = self._box.response(name)
        value = said[-1] if said else None
        return int(value) if isinstance(value, bytes) and value.isdigit() else 0

    def after(self, uid: int) -> list[int]:
        """List the mails after one, oldest first."""
        # A range up to * always holds the newest mail, however old it is.
        return [each for each in self._search(f"UID {uid + 1}:*") if each > uid]

    def since(self, day: datetime) -> list[int]:
        """List the mails that arrived since a day."""
        months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
        return self._search(f"SINCE {day.day}-{months[day.month - 1]}-{day.year}")

    def _search(self, criterion: str) -> list[int]:
        self._ask("noop")
        kind, found = self._ask("uid", "SEARCH", criterion)
        if kind != "OK":
            raise ServiceBusy("email.imap could not search")
        return sorted(int(each) for line in found if isinstance(line, bytes) for each in line.split())

    def read(self, uid: int) -> bytes | None:
        """Read a mail; None if it is gone, or too large."""
        size = b" ".join(each for each in self._ask("uid", "FETCH", str(uid), "(RFC822.SIZE)")[1] if each)
        number = size.rpartition(b"RFC822.SIZE ")[2].partition(b")")[0].partition(b" ")[0]
        if not number.isdigit() or int(number) > _MOST_BYTES:
            return None
        found = self._ask("uid", "FETCH", str(uid), "(BODY.PEEK[])")[1]
        return next((bytes(each[1]) for each in found if isinstance(each, tuple)), None)

    def confirm(self, uid: int) -> None:
        """Mark a mail as read."""
        self._ask("uid", "STORE", str(uid), "+FLAGS.SILENT", "(\\Seen)")

    def _ask(self, command: str, *given: str) -> tuple[str, Sequence[Any]]:
        try:
            kind, said = getattr(self._box, command)(*given)
        # An abort is an error too; a connection that was closed in another thread may raise anything below OSError.
        except (OSError, imaplib.IMAP4.error, AttributeError, ValueError) as error:
            raise ServiceBusy(f"email.imap does not answer ({type(error).__name__})") from None
        return str(kind), said

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError, imaplib.IMAP4.error):
            self._box.shutdown()


class Postbox:
    """Where mail is sent; a connection for each mail, because there are few."""

    def __init__(self, host: MailHost) -> None:
        self._host = host

    def send(self, mail: EmailMessage, sender: str, to: str) -> None:
        """Send a mail; only once its text has been handed over can nobody tell whether it arrived."""
        with self._connected() as server:
            for code, said in (server.mail(sender), server.rcpt(to)):
                if code >= 300:
                    raise self._refusal(code, said)
            try:
                code, said = server.data(mail.as_bytes(policy=SMTP))
            except smtplib.SMTPDataError as error:
                raise self._refusal(error.smtp_code, error.smtp_error) from None
            except (OSError, smtplib.SMTPException) as error:
                raise Unsure(f"email.smtp did not confirm the mail ({type(error).__name__})") from None
            if code >= 300:
                raise self._refusal(code, said)

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        known, context = self._host, ssl.create_default_context()
        server: smtplib.SMTP | None = None
        try:
            if known.kind == "smtps":
                server = smtplib.SMTP_SSL(known.host, known.port, timeout=_SECONDS, context=context)
            else:
                server = smtplib.SMTP(known.host, known.port, timeout=_SECONDS)
                server.ehlo()
                if not known.is_local or server.has_extn("starttls"):
                    server.starttls(context=context)
            server.login(known.user, known.password)
            yield server
        except smtplib.SMTPAuthenticationError as error:
            raise self._refused_login(error) from None
        except (OSError, smtplib.SMTPException) as error:
            raise ServiceBusy(f"email.smtp cannot be reached ({type(error).__name__})") from None
        finally:
            if server is not None:
                with suppress(OSError, smtplib.SMTPException):
                    server.quit()
                server.close()

    def _refused_login(self, error: smtplib.SMTPAuthenticationError) -> Undelivered:
        said = self._host.cleaned(error.smtp_error)
        return ServiceBusy(f"email.smtp refused to log in: {said}")

    def _refusal(self, code: int, said: bytes | str) -> Undelivered:
        what = f"email.smtp refused the mail: {code} {self._host.cleaned(said)}"
        return ServiceBusy(what) if code < 500 else Undelivered(what, is_final=True)


class EmailLine(ServiceLine):
    """The channel. An address is the e-mail address of a person; the thread is that of their last mail."""

    name = "email"
    most = 200_000

    def __init__(self, setup: ChannelSetup, fetching: MailHost, postbox: Postbox) -> None:
        known = setup.settings.email
        super().__init__(setup, [each.lower() for each in known.people])
        self._known = known
        self._address = (known.address or "").lower()
        self._tag = tag_in(setup)
        self._fetching = fetching
        self._postbox = postbox
        self._box: Mailbox | None = None

    @property
    def notices(self) -> Sequence[str]:
        """Say that nobody is answered, or that anybody could be somebody else."""
        found = list(super().notices)
        if self._known.proof == "server" and not self._known.server:
            found.append(
                "email.server is not set, so no sender is proven and nobody is answered: set it to the name at the "
                "beginning of Authentication-Results in a mail that you received, or choose email.proof tag"
            )
        if self._known.proof == "none":
            found.append("email.proof is none: whoever forges the address of one of email.people is answered")
        return found

    def introduce(self) -> str:
        """Log in once."""
        Mailbox(self._fetching, self._known.folder).close()
        self.own = self._address
        return self.own

    def receive(self) -> None:
        """Look for new mail again and again, until stopped."""
        box = self._box = Mailbox(self._fetching, self._known.folder)
        try:
            read = self._begin(box)
            while not self.stopped():
                for uid in box.after(read):
                    self._take(box, uid)
                    read = uid
                self.well()
                self.setup.stop.wait(self._known.every_seconds)
        finally:
            box.close()

    def _begin(self, box: Mailbox) -> int:
        """Return the last mail that was read; the first run begins with what arrives from now on."""
        mark = self.mark("read")
        if isinstance(mark, Mapping) and mark.get("validity") == box.validity:
            return int(mark["uid"])
        newest = box.following - 1 if box.following else max(box.after(0), default=0)
        if isinstance(mark, Mapping):
            log.warning("email: the folder was made anew; mails of the last %d days are looked through", _DAYS_BACK)
            for uid in box.since(datetime.now(UTC) - timedelta(days=_DAYS_BACK)):
                self._take(box, uid)
                newest = max(newest, uid)
        self._passed(box, newest)
        return newest

    def _take(self, box: Mailbox, uid: int) -> None:
        raw = box.read(uid)
        is_read = raw is not None and self._accept(raw)
        self._passed(box, uid)
        # Only what was taken is marked as read: a person who looks into the mailbox sees what was left alone.
        if is_read:
            box.confirm(uid)

    def _passed(self, box: Mailbox, uid: int) -> None:
        self.set_mark("read", {"validity": box.validity, "uid": uid})

    def _accept(self, raw: bytes) -> bool:
        try:
            mail = parsed(raw)
            # Nothing of a stranger's mail is read but its header.
            letter = read_letter(raw, self._tag) if self._admits(mail) else None
        except (Rejected, *UNREADABLE) as error:
            log.warning("email: a mail cannot be read and is left alone (%s)", type(error).__name__)
            return False
        if letter is None:
            return False
        self.set_mark(f"thread {letter.sender}", _thread_of(letter))
        key, quote = letter.key, letter.quote
        return self.keep(
            IncomingMessage(text=letter.text, channel=self.name, address=letter.sender, key=key, quote=quote)
        )

    def _admits(self, mail: EmailMessage) -> bool:
        sender = sender_of(mail)
        if sender not in self.people:
            self.ignore(sender or "a mail without a sender")
            return False
        reason = why_ignored(mail, self._address) or ("" if self._is_proven(mail) else "its sender is not proven")
        if reason:
            log.warning("email: a mail from %s is left alone: %s", sender, reason)
        return not reason

    def _is_proven(self, mail: EmailMessage) -> bool:
        if self._known.proof == "server":
            return bool(self._known.server) and is_authentic(mail, self._known.server or "")
        return self._known.proof == "none" or is_tagged(mail, self._tag)

    def reaches(self, address: str) -> bool:
        """Say whether an address is listed."""
        return address.lower() in self.people

    def post(self, address: str, part: str, key: str) -> None:
        """Send a mail in the thread of the person's last one; the same key is the same Message-ID."""
        found = self.mark(f"thread {address.lower()}")
        thread = found if isinstance(found, Mapping) else {}
        mail = EmailMessage(policy=SMTP)
        mail["From"], mail["To"] = self._address, address
        mail["Date"] = format_datetime(datetime.now(UTC))
        mail["Subject"] = self._subject(thread, part)
        mail["Message-ID"] = f"<everloom.{key}@{self._address.rpartition('@')[2]}>"
        if number := thread.get("number"):
            mail["In-Reply-To"] = number
            mail["References"] = " ".join([*thread.get("references", ()), number])
        # Programs that answer by themselves leave such a mail alone, as we leave theirs.
        mail["Auto-Submitted"], mail["X-Auto-Response-Suppress"] = "auto-replied", "All"
        mail.set_content(part)
        if (html := as_html(part)) is not None:
            mail.add_alternative(html, subtype="html")
        self._postbox.send(mail, self._address, address)

    def _subject(self, thread: Mapping[str, Any], part: str) -> str:
        first = next((line.strip(" #*") for line in part.split("\n") if line.strip(" #*")), "")
        cut = first if len(first) <= _LONGEST_SUBJECT else f"{first[: _LONGEST_SUBJECT - 1]}…"
        subject = answer_subject(thread["subject"]) if thread.get("subject") else cut
        # With the tag, the person's answer is proven as well.
        return f"{subject} [{self._tag}]" if self._known.proof == "tag" else subject

    def close(self) -> None:
        """Close the connection; a search that waits on it ends."""
        if self._box is not None:
            self._box.close()


def email_channel(setup: ChannelSetup) -> EmailLine | None:
    """Make the channel if the agent has an address."""
    known = setup.settings.email
    if known.address is None:
        return None
    if known.proof == "tag" and not tag_in(setup):
        raise Rejected("email.proof is tag, and there is none", hint="set EVERLOOM_EMAIL_TAG to a word nobody guesses")
    secret = setup.settings.secrets.everloom_email_password
    if secret is None:
        raise Rejected("email.address is set without a password", hint="set EVERLOOM_EMAIL_PASSWORD")
    password = secret.get_secret_value()
    fetching, posting = (_host(known, kind, password) for kind in ("imap", "smtp"))
    return EmailLine(setup, fetching, Postbox(posting))


def tag_in(setup: ChannelSetup) -> str:
    """Return the secret that a mail must hold, if that is how senders are proven."""
    secret = setup.settings.secrets.everloom_email_tag
    return secret.get_secret_value() if secret and setup.settings.email.proof == "tag" else ""


def _host(known: EmailSettings, kind: str, password: str) -> MailHost:
    given = getattr(known, kind)
    try:
        parts = urlsplit(given or "")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {kind, f"{kind}s"} or not parts.hostname:
        raise Rejected(f"email.{kind} is not an address", hint=f"write {kind}s://host, or {kind}://host for STARTTLS")
    user = known.user or known.address or ""
    return MailHost(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], user, password)


def _thread_of(letter: Letter) -> dict[str, Any]:
    return {"subject": letter.subject, "number": letter.number, "references": list(letter.references)}
