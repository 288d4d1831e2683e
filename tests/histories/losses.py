"""What happens to the content of a store: a bit that changes where it lies, and a restore while clients write.

Both change what a memory holds without anybody having asked for it, so each has a rule of its own.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import get_ident
from typing import Any

import psycopg

from everloom.store.address import sqlite_path
from tests.forking import Popen
from tests.histories.faults import Fault
from tests.histories.surfaces import HttpServer
from tests.histories.trial import WORD, text_of
from tests.patience import run, wait_until
from tests.store.ground import as_superuser, is_sqlite, rows_of
from tests.surfaces.mcp.ground import PROGRAM, environment

_TEXTS = "SELECT item_id, text FROM document WHERE kind = 'observation' AND retired_at IS NULL ORDER BY item_id"
# Doctor names a thousand rows one by one, and a bit may also fall on the copies in events and receipts.
_MOST = 60


class Damage(Fault):
    """One bit of a stored text changes: in the file itself, or in a row of PostgreSQL past everything that we do."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def strike(self, chance: random.Random) -> None:
        """Change one bit of a text that somebody wrote, if there is one."""
        if self.count >= _MOST:
            return
        rows = [row for row in rows_of(self._url, _TEXTS) if _is_whole(row["text"])]
        if not rows:
            return
        row = chance.choice(rows)
        place = chance.randrange(len(row["text"].rpartition(" ")[0]))
        # A low bit: the text stays text, as it does in most damage that nobody notices.
        bit = 1 << chance.randrange(4)
        changed = self._flip_in_file if is_sqlite(self._url) else self._flip_in_row
        self.count += changed(row, place, bit)

    def _flip_in_file(self, row: Mapping[str, Any], place: int, bit: int) -> bool:
        file = sqlite_path(self._url)
        with closing(sqlite3.connect(file, timeout=60)) as connection:
            # As long as a page is also in the log, nobody reads it from the file.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        content = file.read_bytes()
        at = content.find(row["text"].encode())
        # Pages that are free hold old copies; one that is in use is among them if the row changes.
        while at >= 0:
            handle = os.open(file, os.O_RDWR)
            try:
                os.pwrite(handle, bytes([content[at + place] ^ bit]), at + place)
            finally:
                os.close(handle)
            now = rows_of(self._url, "SELECT text FROM document WHERE item_id = ?", row["item_id"])
            if not now or now[0]["text"] != row["text"]:
                return bool(now)
            at = content.find(row["text"].encode(), at + 1)
        return False

    def _flip_in_row(self, row: Mapping[str, Any], place: int, bit: int) -> bool:
        text = row["text"]
        changed = f"{text[:place]}{chr(ord(text[place]) ^ bit)}{text[place + 1 :]}"
        with psycopg.connect(as_superuser(self._url), autocommit=True) as connection:
            statement = "UPDATE document SET text = %s WHERE item_id = %s AND text = %s"
            return bool(connection.execute(statement, (changed, row["item_id"], text)).rowcount)


def _is_whole(text: str) -> bool:
    """Return whether a text is as its client wrote it."""
    found = WORD.findall(text)
    return len(found) == 1 and text == text_of(found[0])


def altered(url: str) -> dict[int, str]:
    """Find the texts that are not as they were written, by their ids."""
    return {row["item_id"]: row["text"] for row in rows_of(url, _TEXTS) if not _is_whole(row["text"])}


def command(url: str, home: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command of everloom as people do; give its exit code and what it wrote."""
    ran = run([*PROGRAM, *arguments, "--store", url, "--json"], env=environment(home), start=Popen)
    return ran.returncode, ran.stdout, ran.stderr


def named_by_doctor(url: str, home: Path) -> str:
    """Let `everloom doctor --deep` say what is damaged."""
    return command(url, home, "doctor", "--deep")[1]


def named_by_backup(url: str, home: Path, target: Path) -> tuple[int, str]:
    """Make a backup, and give its exit code and what it says about what it copied."""
    code, out, errors = command(url, home, "backup", str(target))
    return code, out + errors


class Restore(Fault):
    """A backup is made, and a moment later restored while clients come and go; it happens once.

    Whoever keeps the store open has to end first: as long as the server has it open, the restore is refused.
    """

    def __init__(self, url: str, home: Path, server: HttpServer) -> None:
        super().__init__()
        self._url = url
        self._home = home
        self._server = server
        self.began = self.ended = 0.0
        self.former = ""

    def strike(self, chance: random.Random) -> None:
        """Restore a backup of a moment ago."""
        if self.count:
            return
        backup = self._home / "backup.db"
        code, out, errors = command(self._url, self._home, "backup", str(backup))
        assert code == 0, out + errors
        time.sleep(chance.uniform(0.5, 1.5))
        self.began = time.monotonic()
        code, out, _ = command(self._url, self._home, "restore", str(backup), "--force")
        if code != 0:
            assert "--wait" in out, out
            self._server.close()
            self.began = time.monotonic()
            code, out, errors = command(self._url, self._home, "restore", str(backup), "--force", "--wait", "60")
            assert code == 0, out + errors
        else:
            # PostgreSQL knows connections, and a running server has none for moments: it finds out when it needs one.
            assert not is_sqlite(self._url), out
            wait_until(lambda: not self._server.is_ready(), "the server to notice")
        self.ended = time.monotonic()
        self.former = json.loads(out)["result"]["former"]
        self._server.start()
        self.count += 1

    def goes_on(self, most: int) -> Callable[[int], bool]:
        """Let every client make so many calls after it."""
        # By calls and not by seconds: on a busy machine nobody gets anything done in a few of those.
        made_before: dict[int, int] = {}

        def goes_on(made: int) -> bool:
            return not self.count or made < made_before.setdefault(get_ident(), made) + most

        return goes_on

    def former_words(self) -> set[str]:
        """Read the words of the store that was replaced."""
        if is_sqlite(self._url):
            rows = rows_of(f"sqlite://{self.former}", "SELECT text FROM document")
        else:
            rows = rows_of(self._url, f"SELECT text FROM {self.former.split()[2]}.document")
        return {word for row in rows for word in WORD.findall(row["text"])}
