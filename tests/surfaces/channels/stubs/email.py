"""A mail server over real sockets: IMAP4rev1 and SMTP, as far as a reader and a sender of mail use them.

Strict: nothing without a login, nothing in the wrong order, and no mail that is not from its own user. It signs what
arrives with Authentication-Results, as a real one does.
"""

from __future__ import annotations

import base64
import re
import shlex
import socket
import socketserver
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from threading import Lock, Thread
from typing import Any

from tests.surfaces.channels.stubs.service import ServiceStub

PASSWORD = "a-password-that-nobody-may-see"
BOT, ADA, EVE = "loom@here.example", "ada@there.example", "eve@evil.example"
SERVER = "mx.here.example"


class EmailStub(ServiceStub):
    """Mailboxes and a way to send. Ada is the friend, Eve a stranger."""

    name = "email"
    secrets = (PASSWORD, base64.b64encode(f"\0{BOT}\0{PASSWORD}".encode()).decode())
    longest = 10_000_000
    rooms = False

    def __init__(self) -> None:
        super().__init__()
        self.validity = 7
        self.box: dict[int, bytes] = {}
        self.seen: set[int] = set()
        self.following = 1
        self.letters: list[EmailMessage] = []
        self.faults: list[str] = []
        self.searches = 0
        self.sockets: set[socket.socket] = set()
        self.lock = Lock()
        self._imap = _server(self, _Imap)
        self._smtp = _server(self, _Smtp)
        self._number = 0

    def settings(self) -> dict[str, dict[str, Any]]:
        """Allow Ada, whom the server has to vouch for."""
        known = {
            "address": BOT,
            "imap": f"imap://127.0.0.1:{self._imap.server_address[1]}",
            "smtp": f"smtp://127.0.0.1:{self._smtp.server_address[1]}",
            "people": ADA,
            "server": SERVER,
            "every_seconds": 0.1,
        }
        return {"email": known, "secrets": {"everloom_email_password": PASSWORD}}

    def start(self) -> None:
        """Begin to listen."""
        for each in (self._imap, self._smtp):
            Thread(target=each.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """Stop listening."""
        for each in (self._imap, self._smtp):
            each.shutdown()
            each.server_close()
        self.cut()

    def cut(self) -> None:
        """Cut every connection."""
        self.searches = 0
        with self.lock:
            for each in self.sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def fail(self, how: str) -> None:
        """Let the next sending go wrong."""
        self.faults.append(how)

    def is_connected(self) -> bool:
        """Say whether somebody has looked for mail."""
        return self.searches > 0

    def say(self, text: str) -> str:
        """Let Ada write."""
        self.deliver(self.letter(ADA, text))
        return ADA

    def say_in_room(self, text: str) -> str:
        """Refuse: there are no rooms."""
        raise NotImplementedError

    def say_strange(self, text: str) -> str:
        """Let Eve write, in her own name and in Ada's."""
        self.deliver(self.letter(EVE, text))
        self.deliver(self.letter(ADA, text), verdict="fail")
        return EVE

    def letter(self, sender: str, text: str, **headers: str) -> EmailMessage:
        """Write a mail."""
        self._number += 1
        mail = EmailMessage()
        mail["From"], mail["To"] = f"Somebody <{sender}>", BOT
        mail["Message-ID"] = f"<{self._number}@{sender.partition('@')[2]}>"
        for name, value in headers.items():
            mail[name.replace("_", "-")] = value
        mail.set_content(text)
        return mail

    def deliver(self, mail: EmailMessage | bytes, verdict: str = "pass") -> int:
        """Put a mail into the mailbox, with what the server found out about its sender."""
        raw = mail if isinstance(mail, bytes) else mail.as_bytes(policy=policy.SMTP)
        found = re.search(rb"^From:.*@([a-z.]+)", raw, re.MULTILINE)
        domain = found[1].decode() if found else "nowhere.example"
        sign = (
            f"Authentication-Results: {SERVER}; spf=pass smtp.mailfrom=x;\r\n dmarc={verdict} header.from={domain}\r\n"
        )
        with self.lock:
            uid, self.following = self.following, self.following + 1
            self.box[uid] = sign.encode() + raw
            return uid

    def waits_for(self, text: str) -> bool:
        """Say whether a mail is not marked as read."""
        return any(uid not in self.seen for uid, raw in self.box.items() if f"\n{text}\r\n".encode() in raw) or not any(
            text.encode() in raw for raw in self.box.values()
        )

    def take(self, sender: str, to: str, raw: bytes) -> None:
        """Send a mail on."""
        mail = message_from_bytes(raw, policy=policy.default)
        body = mail.get_body(("plain",))
        if sender != BOT or mail["from"] != BOT or mail["to"] != to or body is None or not mail["message-id"]:
            self.complaints.append(f"a bad mail from {sender} to {to}")
            return
        self.letters.append(mail)
        self.sent.append((to, body.get_content().strip()))


def _server(stub: EmailStub, talk: type[_Talk]) -> socketserver.ThreadingTCPServer:
    kind = type("Server", (socketserver.ThreadingTCPServer,), {"daemon_threads": True, "allow_reuse_address": True})
    made: socketserver.ThreadingTCPServer = kind(("127.0.0.1", 0), type("Talk", (talk,), {"stub": stub}))
    return made


class _Talk(socketserver.StreamRequestHandler):
    """One connection, line by line."""

    stub: EmailStub

    def setup(self) -> None:
        super().setup()
        with self.stub.lock:
            self.stub.sockets.add(self.connection)

    def finish(self) -> None:
        with self.stub.lock:
            self.stub.sockets.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with suppress(OSError, ValueError):
            self.talk()

    def talk(self) -> None:
        raise NotImplementedError

    def tell(self, line: str | bytes) -> None:
        self.wfile.write((line if isinstance(line, bytes) else line.encode()) + b"\r\n")

    def hear(self) -> str:
        line = self.rfile.readline()
        if not line:
            raise ConnectionError
        return line.decode().rstrip("\r\n")


class _Imap(_Talk):
    """IMAP4rev1, RFC 3501."""

    def talk(self) -> None:
        self.state = "not authenticated"
        self.tell("* OK IMAP4rev1 ready")
        while self.state != "logout":
            tag, command, *given = shlex.split(self.hear().replace("\\Seen", "Seen"))
            self._obey(tag, command.upper(), given)

    def _obey(self, tag: str, command: str, given: list[str]) -> None:
        if command == "CAPABILITY":
            self.tell("* CAPABILITY IMAP4rev1")
        elif command == "LOGOUT":
            self.state = "logout"
            self.tell("* BYE")
        elif command == "LOGIN":
            if given != [BOT, PASSWORD]:
                self.tell(f"{tag} NO [AUTHENTICATIONFAILED] wrong: {' '.join(given)}")
                return
            self.state = "authenticated"
        elif command == "SELECT" and self.state != "not authenticated" and given == ["INBOX"]:
            self.state = "selected"
            self.tell(f"* {len(self.stub.box)} EXISTS")
            self.tell(f"* OK [UIDVALIDITY {self.stub.validity}] UIDs valid")
            self.tell(f"* OK [UIDNEXT {self.stub.following}] Predicted next UID")
            self.tell(f"{tag} OK [READ-WRITE] SELECT completed")
            return
        elif command == "UID" and self.state == "selected":
            self._uid(*given)
        elif command != "NOOP":
            self.tell(f"{tag} BAD {command} is not possible when {self.state}")
            return
        self.tell(f"{tag} OK {command} completed")

    def _uid(self, command: str, *given: str) -> None:
        stub = self.stub
        if command == "SEARCH":
            stub.searches += 1
            newest = max(stub.box, default=0)
            if given[0] == "UID":
                low = int(given[1].removesuffix(":*"))
                # As the standard says: a range up to * holds the newest mail, even if it is older than the beginning.
                found = [uid for uid in sorted(stub.box) if uid >= low or uid == newest]
            else:
                found = sorted(stub.box)
            self.tell("* SEARCH" + "".join(f" {uid}" for uid in found))
        elif command == "FETCH" and int(given[0]) in stub.box:
            uid = int(given[0])
            raw = stub.box[uid]
            if given[1:] == ("(RFC822.SIZE)",):
                self.tell(f"* 1 FETCH (UID {uid} RFC822.SIZE {len(raw)})")
            else:
                self.tell(f"* 1 FETCH (UID {uid} BODY[] {{{len(raw)}}}".encode() + b"\r\n" + raw + b")")
        elif command == "STORE":
            stub.seen.add(int(given[0]))


class _Smtp(_Talk):
    """SMTP, RFC 5321, with AUTH PLAIN."""

    def talk(self) -> None:
        self.tell("220 here.example ESMTP")
        self.is_known, self.sender, self.to = False, "", ""
        while True:
            line = self.hear()
            verb, _, rest = line.partition(" ")
            if verb.upper() == "QUIT":
                self.tell("221 bye")
                return
            if not self._obey(verb.upper(), rest):
                return

    def _obey(self, verb: str, rest: str) -> bool:
        if verb == "EHLO":
            self.tell("250-here.example\r\n250 AUTH PLAIN")
        elif verb == "AUTH":
            self.is_known = rest == "PLAIN " + base64.b64encode(f"\0{BOT}\0{PASSWORD}".encode()).decode()
            self.tell("235 welcome" if self.is_known else f"535 wrong: {rest}")
        elif not self.is_known:
            self.tell("530 authentication required")
        elif verb == "MAIL":
            self.sender = rest.partition("<")[2].partition(">")[0]
            self.tell("250 ok")
        elif verb == "RCPT":
            return self._recipient(rest)
        elif verb == "DATA" and self.sender and self.to:
            return self._data()
        else:
            self.tell("503 bad sequence" if verb == "DATA" else "250 ok")
        return True

    def _recipient(self, rest: str) -> bool:
        fault = self.stub.faults[0] if self.stub.faults else ""
        if fault in {"busy", "refused"}:
            self.stub.faults.pop(0)
            self.tell("451 try again later" if fault == "busy" else "550 no such user")
            return True
        self.to = rest.partition("<")[2].partition(">")[0]
        self.tell("250 ok")
        return True

    def _data(self) -> bool:
        self.tell("354 go on")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return False
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        self.stub.take(self.sender, self.to, b"".join(lines))
        if self.stub.faults:
            self.stub.faults.pop(0)
            return False
        self.tell("250 queued")
        return True
