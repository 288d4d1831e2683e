"""What a fleet costs: many workspaces, many clients, four reads to one write, directly and over HTTP.

    python benchmarks/fleet.py [--workspaces 2000] [--items 500] [--clients 16] [--servers 2] [--url URL]… [--json]

Fills one workspace through the API and copies its rows to the others, then lets clients search, recall, bring to mind
and remember in workspaces at random. Prints calls per second, the CPU of clients, servers and PostgreSQL, calls per
CPU-second, percentiles, WAL per write, sessions that wait for locks, round trips and PostgreSQL's CPU of each
operation, and what an idle worker's look costs. Round trips are counted on the wire, by a relay between the program and
the server.

Uses the public API and the command line only, so that it also runs in an older checkout, for a comparison. Without a
URL it starts the PostgreSQL of the development tools. A database that is given must be empty, or one that was filled by
this program with the same numbers. To measure a cluster, fill its coordinator with this program, run `everloom store
distribute`, and give the nodes that clients shall talk to as URLs, and all others by `--node`: what they cost is added.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import psutil
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from everloom.bench.texts import memories  # noqa: E402  the path is set above
from everloom.loom import open_loom  # noqa: E402
from everloom.settings import Settings  # noqa: E402

SETTINGS = Settings.model_validate({"workspace": {"time_zone": "UTC"}})
# Of a hundred calls: four reads to one write.
MIX = {"search": 50, "recall": 20, "bring_to_mind": 10, "remember": 20}
WRITES = "remember"
# What a workspace does not take over from the one that it is a copy of.
OWN = {"id", "name", "name_key", "description", "created_at"}
PAGE = 25
PATIENCE = 600.0
# Below so many round trips a second, a worker has nothing left to do.
IDLE_RATE = 20
# Calls of each kind that are made one after the other.
ALONE = 100


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be done: by whom, where and for how long."""

    workspaces: int
    items: int
    clients: int
    processes: int
    seconds: float


def name_of(number: int) -> str:
    """Name a workspace."""
    return f"place {number}"


# Filling


def fill(url: str, load: Load) -> None:
    """Fill one workspace through the API, and copy its rows to the others; nothing if that was done before."""
    with open_loom(url, settings=SETTINGS) as loom:
        present = {place.name: place.id for place in loom.workspaces.list()}
        first = loom.workspace(name_of(0), session="filling")
        if name_of(0) not in present:
            for each in memories(load.items):
                first.semantic.remember(list(dict.fromkeys(each.text.split()[:2])), each.text)
        fresh = [name_of(number) for number in range(1, load.workspaces) if name_of(number) not in present]
        for number in range(0, len(fresh), PAGE):
            copy(url, first.info.id, [loom.workspace(name).info.id for name in fresh[number : number + PAGE]])
    if name_of(0) in present and not fresh:
        return
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("VACUUM ANALYZE")


def copy(url: str, source: int, targets: Sequence[int]) -> None:
    """Copy every row of a workspace to others, whatever tables there are."""
    with closing(psycopg.connect(url)) as connection, connection.transaction():
        # In the order of their creation, in which rows find what they refer to.
        tables = connection.execute(
            "SELECT c.relname, array_agg(a.attname ORDER BY a.attnum) FROM pg_class AS c JOIN pg_attribute AS a ON "
            "a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relkind = 'r' AND c.relnamespace = "
            "current_schema()::regnamespace GROUP BY c.oid, c.relname ORDER BY c.oid"
        ).fetchall()
        for table, columns in tables:
            if "workspace_id" in columns:
                copy_table(connection, table, [each for each in columns if each != "workspace_id"], source, targets)
        own = [each for table, columns in tables if table == "workspace" for each in columns if each not in OWN]
        # Counters and the like that are kept in the row of the workspace itself.
        change = sql.SQL(", ").join(sql.SQL("{0} = first.{0}").format(sql.Identifier(each)) for each in own)
        update = sql.SQL("UPDATE workspace AS w SET {} FROM workspace AS first WHERE first.id = %s AND w.id = ANY(%s)")
        connection.execute(update.format(change), (source, list(targets)))


def copy_table(
    connection: psycopg.Connection[Any], table: str, columns: list[str], source: int, targets: Sequence[int]
) -> None:
    """Copy the rows of one table; its owner may see every workspace while row-level security is not forced."""
    # A table may have no column beside the workspace.
    name, listed = sql.Identifier(table), sql.SQL("").join(sql.SQL(", {}").format(sql.Identifier(c)) for c in columns)
    force = sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY")
    connection.execute(force.format(name, sql.SQL("NO FORCE")))
    connection.execute(sql.SQL("DELETE FROM {} WHERE workspace_id = ANY(%s)").format(name), (list(targets),))
    add = sql.SQL(
        "INSERT INTO {0} (workspace_id{1}) SELECT target_workspace{1} "
        "FROM {0}, unnest(%s::bigint[]) AS t (target_workspace) WHERE workspace_id = %s"
    )
    connection.execute(add.format(name, listed), (list(targets), source))
    connection.execute(force.format(name, sql.SQL("FORCE")))


# Calling


def calls(place: Any, kind: str, about: Any) -> object:
    """Make one call of a kind in a workspace, here or elsewhere."""
    mind = place.semantic
    if kind == "remember":
        return mind.remember(list(dict.fromkeys(about.text.split()[:2])), about.text)
    if kind == "search":
        return place.search(about.question, limit=10)
    return mind.recall(about.question) if kind == "recall" else mind.bring_to_mind(about.question)


@dataclass(slots=True)
class Taken:
    """What the clients of one process took: seconds of each call by kind, seconds of CPU, and what failed."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in MIX})
    cpu: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)


def drive(urls: Sequence[str], load: Load, number: int, start: Any, results: Any) -> None:
    """Be some of the clients: call until the time is over, and tell what it took."""
    url = urls[number % len(urls)]
    taken, share = Taken(), load.clients // load.processes + (number < load.clients % load.processes)
    opened = open_loom(url, token=None) if url.startswith("http") else open_loom(url, settings=SETTINGS)
    with opened as loom:
        # What a process loads once is not counted.
        calls(loom.workspace(name_of(0)), "search", next(memories(1)))
        start.wait(PATIENCE)
        before, end = time.process_time(), time.monotonic() + load.seconds
        clients = [
            threading.Thread(target=call_until, args=(loom, load, 1_000 * number + each, end, taken))
            for each in range(share)
        ]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        taken.cpu = time.process_time() - before
    results.put((taken.seconds, taken.cpu, dict(taken.failures)))


def call_until(loom: Any, load: Load, seed: int, end: float, taken: Taken) -> None:
    """Be one client."""
    random, texts = Random(seed), memories(10**9, seed=seed)
    asked = list(memories(load.items))
    while time.monotonic() < end:
        (kind,) = random.choices(list(MIX), list(MIX.values()))
        about = next(texts) if kind == WRITES else random.choice(asked)
        began = time.perf_counter()
        try:
            place = loom.workspace(name_of(random.randrange(load.workspaces)), session=f"client {seed}")
            calls(place, kind, about)
        except Exception as error:  # noqa: BLE001  a benchmark tells what failed
            taken.failures[type(error).__name__] += 1
        else:
            taken.seconds[kind].append(time.perf_counter() - began)


def run_clients(urls: Sequence[str], load: Load, watched: Watched) -> dict[str, Any]:
    """Let all clients call for a while, and sum up."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(load.processes + 1), context.Queue()
    children = [
        context.Process(target=drive, args=(urls, load, each, start, results)) for each in range(load.processes)
    ]
    for child in children:
        child.start()
    start.wait(PATIENCE)
    with watched.during() as seen:
        found = [results.get(timeout=PATIENCE) for _ in children]
    for child in children:
        child.join()
    seconds = {kind: [each for taken, _, _ in found for each in taken[kind]] for kind in MIX}
    failures: Counter[str] = Counter()
    for _, _, failed in found:
        failures.update(failed)
    return summed(seconds, sum(cpu for _, cpu, _ in found), seen, load.seconds) | {"failures": dict(failures)}


def summed(seconds: Mapping[str, list[float]], clients: float, seen: Mapping[str, Any], span: float) -> dict[str, Any]:
    """Sum up what was measured."""
    count, writes = sum(map(len, seconds.values())), len(seconds[WRITES])
    cpu = {"clients": clients, "servers": seen["servers"], "postgresql": seen["postgresql"]}
    whole = sum(each for each in cpu.values() if each is not None)
    return {
        "calls": count,
        "calls_per_second": round(count / span, 1),
        "calls_per_cpu_second": round(count / whole, 1) if whole else None,
        "cpu_ms_per_call": {who: each and round(each / max(count, 1) * 1000, 2) for who, each in cpu.items()},
        "wal_bytes_per_write": round(seen["wal"] / writes) if writes else None,
        "sessions_waiting_for_locks": seen["waiting"],
        "share_idle_in_transaction": seen["idle"],
        "ms": {kind: percentiles(each) for kind, each in seconds.items() if each},
    }


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Say how long calls took, in milliseconds."""
    ordered = sorted(seconds)
    return {
        f"p{each}": round(ordered[min(len(ordered) - 1, len(ordered) * each // 100)] * 1000, 1) for each in (50, 95, 99)
    }


# Watching


class Watched:
    """The servers of the database, and the processes of this program in front of them, while clients call."""

    def __init__(self, nodes: Sequence[str], servers: Sequence[subprocess.Popen[bytes]] = ()) -> None:
        self._connections = [psycopg.connect(url, autocommit=True, application_name="watching") for url in nodes]
        self._servers = [psutil.Process(each.pid) for each in servers]
        found = [postmaster_of(each) for each in self._connections]
        self._postmasters = {each.pid: each for each in found if each} if all(found) else {}

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._connections:
            each.close()

    @contextmanager
    def during(self) -> Iterator[dict[str, Any]]:
        """Measure what happens during a block; afterwards the dictionary holds it."""
        seen: dict[str, Any] = {}
        samples: list[tuple[int, int, int]] = []
        stop = threading.Event()
        before = self._count()
        watcher = threading.Thread(target=self._sample, args=(stop, samples))
        watcher.start()
        try:
            yield seen
        finally:
            stop.set()
            watcher.join()
        after = self._count()
        seen.update({name: None if after[name] is None else after[name] - before[name] for name in after})
        sessions = sum(each[2] for each in samples) or 1
        seen["waiting"] = round(sum(each[0] for each in samples) / max(len(samples), 1), 2)
        seen["idle"] = round(sum(each[1] for each in samples) / sessions, 2)

    def _count(self) -> dict[str, Any]:
        wal = sum(int(first_row(each, LOGGED)[0]) for each in self._connections)
        servers = sum(spent(each) for each in self._servers) if self._servers else None
        return {"wal": wal, "servers": servers, "postgresql": self.postgresql()}

    def postgresql(self) -> float | None:
        """Return the seconds of CPU of all servers of the database, if they run on this machine."""
        return sum(map(tree_spent, self._postmasters.values())) if self._postmasters else None

    def _sample(self, stop: threading.Event, samples: list[tuple[int, int, int]]) -> None:
        while not stop.wait(0.2):
            rows = [first_row(each, SESSIONS) for each in self._connections]
            waiting, idle, count = (sum(each) for each in zip(*rows, strict=True))
            samples.append((waiting, idle, count))


LOGGED = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
SESSIONS = (
    "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*) FILTER (WHERE state LIKE 'idle in%'), "
    "count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'watching'"
)


def first_row(connection: psycopg.Connection[Any], question: str) -> tuple[Any, ...]:
    """Ask something that has an answer."""
    row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return tuple(row)


def postmaster_of(connection: psycopg.Connection[Any]) -> psutil.Process | None:
    """Find the server's first process, if it runs on this machine and we may see it."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    with suppress(psutil.Error):
        backend = psutil.Process(row[0] if row else 0)
        if "postgres" in backend.name():
            return backend.parent()
    return None


def spent(process: psutil.Process) -> float:
    """Return the seconds of CPU that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def tree_spent(process: psutil.Process) -> float:
    """Return the seconds of CPU of a process and its children, those that have ended included."""
    times = process.cpu_times()
    whole = spent(process) + times.children_user + times.children_system
    for child in process.children():
        with suppress(psutil.Error):
            whole += spent(child)
    return float(whole)


# Serving


def command(url: str, home: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    """Write a command of the program, with an environment in which it finds nothing of whoever runs it."""
    places = {f"XDG_{each}_HOME": str(home / each) for each in ("CONFIG", "DATA", "CACHE", "STATE")}
    given = {name: value for name, value in os.environ.items() if not name.startswith("EVERLOOM_")}
    path = {"PYTHONPATH": str(ROOT / "src"), "EVERLOOM_STORE_URL": url, "EVERLOOM_WORKSPACE_TIME_ZONE": "UTC"}
    return [sys.executable, "-m", "everloom", *words], given | places | path


@contextmanager
def serving(url: str, home: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server on a port."""
    words, given = command(url, home, "serve", "--port", str(port))
    with (
        (home / f"server {port}").open("wb") as log,
        subprocess.Popen(words, env=given, stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(lambda: is_healthy(port))
            yield server
        finally:
            server.terminate()
            server.wait(PATIENCE)


def is_healthy(port: int) -> bool:
    """Ask a server whether it is there."""
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it took too long")
        time.sleep(0.1)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


# Counting round trips


class Relay:
    """Passes bytes between clients and a server, and counts how often a client speaks after the server has."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self.trips = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._connect()
                turn = {"client": False}
                for source, target, is_client in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass, args=(source, target, turn, is_client), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, turn: dict[str, bool], is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                with self._lock:
                    self.trips += is_client and not turn["client"]
                    turn["client"] = is_client
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept nobody any more."""
        self._listener.close()


def relayed(url: str) -> tuple[str, Relay]:
    """Put a relay in front of a database; returns the URL that leads through it."""
    known = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    host, port = known.pop("host", "localhost"), int(known.pop("port", "5432"))

    def connect() -> socket.socket:
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{host}/.s.PGSQL.{port}")
        return made

    relay = Relay(connect)
    user, password = quote(known.pop("user", "")), known.pop("password", "")
    secret = f":{quote(password, safe='')}" if password else ""
    rest = urlencode(known | {"sslmode": "disable", "gssencmode": "disable"} | {"dbname": known["dbname"]})
    return f"postgresql://{user}{secret}@127.0.0.1:{relay.port}/?{rest}", relay


def round_trips(url: str, load: Load) -> dict[str, int]:
    """Count the round trips of one call of each kind, in a workspace that is warm."""
    through, relay = relayed(url)
    texts, found = memories(10**9, seed=99), {}
    asked = list(memories(load.items))
    with open_loom(through, settings=SETTINGS) as loom:
        place = loom.workspace(name_of(load.workspaces - 1), session="counting")
        for kind in MIX:
            counts = []
            for number in range(6):
                before = relay.trips
                calls(place, kind, next(texts) if kind == WRITES else asked[number % len(asked)])
                counts.append(relay.trips - before)
            # The first ones fill caches.
            found[kind] = round(median(counts[2:]))
    relay.close()
    return found


def cpu_of_each(urls: Sequence[str], load: Load, watched: Watched) -> dict[str, float | None]:
    """Measure the CPU that one call of each kind takes of PostgreSQL, in milliseconds: one after the other."""
    texts, random, found = memories(10**9, seed=98), Random(98), {}
    asked = list(memories(load.items))
    with ExitStack() as stack:
        looms = [stack.enter_context(open_loom(url, settings=SETTINGS)) for url in urls]
        # Those before the first count make connections, plans and caches.
        for kind in (None, *MIX):
            before = watched.postgresql()
            for number in range(ALONE):
                place = looms[number % len(looms)].workspace(name_of(random.randrange(load.workspaces)), session="one")
                for each in (kind,) if kind else MIX:
                    calls(place, each, next(texts) if each == WRITES else random.choice(asked))
            after = watched.postgresql()
            if kind:
                found[kind] = None if before is None or after is None else round((after - before) / ALONE * 1000, 2)
    return found


def idle_look(url: str, home: Path, seconds: float, patience: float) -> dict[str, Any]:
    """Measure what a look of a worker costs that finds nothing to do."""
    words, given = command(url, home, "worker", "--once")
    subprocess.run(words, env=given, check=False, capture_output=True)
    through, relay = relayed(url)
    words, given = command(through, home, "--json", "worker", "--every", "1")
    # The first one does what is left, and what has to be done about workspaces that no worker has seen.
    with worker(words, given):
        settle(relay, patience)
    # Starting costs something, too: the difference between a short and a long life does not contain it.
    short, long = (live(words, given, relay, span) for span in (seconds, 3 * seconds))
    relay.close()
    looks, trips, cpu = ((late - early) for early, late in zip(short, long, strict=True))
    if looks <= 0:
        looks, trips, cpu = long
    return {"round_trips": round(trips / looks, 1), "cpu_ms": round(cpu / looks * 1000, 1), "looks": looks}


def live(words: list[str], given: dict[str, str], relay: Relay, seconds: float) -> tuple[int, int, float]:
    """Let a worker live for a while; returns its looks, its round trips and its seconds of CPU."""
    with worker(words, given) as process:
        before = relay.trips
        time.sleep(seconds)
        cpu = spent(psutil.Process(process.pid))
        process.terminate()
        told, _ = process.communicate(timeout=PATIENCE)
    return max(json.loads(told)["result"]["looks"], 1), relay.trips - before, cpu


@contextmanager
def worker(words: list[str], given: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker until the block ends, which begins when the worker does."""
    with (
        TemporaryFile() as log,
        subprocess.Popen(words, env=given, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        try:
            wait_for(lambda: b"working at" in os.pread(log.fileno(), 1 << 16, 0))
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=PATIENCE)


def settle(relay: Relay, patience: float) -> None:
    """Wait until hardly anything passes, but not for ever: a worker of old asks for all it can."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = relay.trips
        time.sleep(3.0)
        if before > 0 and relay.trips - before < 3 * IDLE_RATE:
            return


# Telling


def measured(urls: Sequence[str], load: Load, home: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure everything that was asked for."""
    found: dict[str, Any] = {"workspaces": load.workspaces, "items": load.items, "clients": load.clients}
    url, nodes = urls[0], [*urls, *chosen.node]
    fill(url, load)
    with ExitStack() as stack:
        sized = [stack.enter_context(closing(psycopg.connect(each))) for each in nodes]
        size = sum(first_row(each, "SELECT pg_database_size(current_database())")[0] for each in sized)
        found["megabytes"] = round(size / 1e6)
    found["round_trips"] = round_trips(url, load)
    with Watched(nodes) as watched:
        found["postgresql_ms"] = cpu_of_each(urls, load, watched)
        found["direct"] = run_clients(urls, load, watched)
    if chosen.servers:
        with ExitStack() as stack:
            ports = [free_port() for _ in range(chosen.servers)]
            places = zip(ports, cycle(urls), strict=False)
            servers = [stack.enter_context(serving(each, home, port)) for port, each in places]
            watched = stack.enter_context(Watched(nodes, servers))
            found["http"] = run_clients([f"http://127.0.0.1:{port}" for port in ports], load, watched)
    if chosen.look_seconds:
        found["idle_look"] = idle_look(url, home, chosen.look_seconds, chosen.settle_seconds)
    return found


def told(found: Mapping[str, Any]) -> Iterator[str]:
    """Write what was measured as lines of a table."""
    yield f"{found['workspaces']:,} workspaces of {found['items']:,} items, {found['megabytes']:,} MB"
    yield f"{found['clients']} clients"
    yield "round trips: " + ", ".join(f"{kind} {count}" for kind, count in found["round_trips"].items())
    yield "PostgreSQL's CPU in ms: " + ", ".join(f"{kind} {each}" for kind, each in found["postgresql_ms"].items())
    for way in ("direct", "http"):
        if (one := found.get(way)) is None:
            continue
        cpu = ", ".join(f"{who} {each}" for who, each in one["cpu_ms_per_call"].items() if each is not None)
        yield f"{way}: {one['calls_per_second']} calls/s, {one['calls_per_cpu_second']} calls per CPU-second"
        yield f"  CPU per call in ms: {cpu}"
        for kind, each in one["ms"].items():
            yield f"  {kind:<14}" + "".join(f"{name} {value:>8} ms  " for name, value in each.items())
        yield f"  WAL per write {one['wal_bytes_per_write']} bytes"
        yield f"  sessions waiting for locks {one['sessions_waiting_for_locks']}"
        yield f"  idle in transaction {one['share_idle_in_transaction']:.0%}, failures {one['failures'] or 'none'}"
    if look := found.get("idle_look"):
        yield f"an idle look of a worker: {look['round_trips']} round trips, {look['cpu_ms']} ms of CPU"


@contextmanager
def databases(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    """Use the database that was given, or a new one in a server of our own that writes as one in earnest does."""
    if urls:
        yield urls
        return
    from tests.engines import Engines  # noqa: PLC0415  only who gives no server needs the development tools

    engines = Engines.open()
    try:
        server = engines.private_server(durable=True)
        try:
            yield [server.url(server.create_database())]
        finally:
            server.remove()
    finally:
        engines.close()


def main() -> None:
    """Read the options, measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workspaces", type=int, default=2_000)
    parser.add_argument("--items", type=int, default=500, help="in each workspace")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--processes", type=int, default=4, help="that the clients are threads of")
    parser.add_argument("--servers", type=int, default=2, help="that serve over HTTP; 0 for none")
    parser.add_argument("--seconds", type=float, default=30.0, help="for which clients call")
    parser.add_argument("--look-seconds", type=float, default=20.0, help="for which an idle worker looks; 0 for none")
    parser.add_argument(
        "--settle-seconds", type=float, default=600.0, help="after which a worker that still works counts as idle"
    )
    talk = "of a PostgreSQL database that belongs to this role; of several nodes of a cluster, clients take turns"
    parser.add_argument("--url", action="append", default=[], help=talk)
    parser.add_argument("--node", action="append", default=[], help="URL of another node that clients do not talk to")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    processes = min(chosen.processes, chosen.clients)
    load = Load(chosen.workspaces, chosen.items, chosen.clients, processes, chosen.seconds)
    with TemporaryDirectory() as home, databases(chosen.url) as urls:
        os.environ["XDG_DATA_HOME"] = home
        found = measured(urls, load, Path(home), chosen)
    sys.stdout.write((json.dumps(found, indent=2) if chosen.json else "\n".join(told(found))) + "\n")


if __name__ == "__main__":
    main()
