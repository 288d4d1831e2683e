"""One door for several servers: HAProxy with the settings that we document or, where it is not installed, a relay.

Both leave out servers that take no connections, and neither repeats a request that may have reached one.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.docs.pages import ROOT
from tests.histories.surfaces import Door, HttpServer
from tests.patience import wait_until

# Where Debian puts it, which is in nobody's PATH but the administrator's.
HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
DOCUMENTED = ROOT / "deploy" / "haproxy.cfg"


def written(door: Door, ports: Sequence[int]) -> str:
    """Write the settings of deploy/haproxy.cfg with the addresses of a trial, and without the names of containers."""
    text = DOCUMENTED.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^resolvers docker\n(?:    .*\n)+", "", text)
    text = text.replace(" init-addr last,libc,none resolvers docker", "")
    text = text.replace("bind :8080", f"bind 127.0.0.1:{door.port}")
    text = re.sub(r"(?m)^    server server\d .*\n?", "", text)
    assert "docker" not in text, "deploy/haproxy.cfg has changed, and this is no longer how to take names out of it"
    return text + "".join(f"    server server{port} 127.0.0.1:{port}\n" for port in ports)


@contextmanager
def haproxy(ports: Sequence[int], home: Path) -> Iterator[Door]:
    """Lend a door with HAProxy behind it."""
    assert HAPROXY is not None
    door, config = Door(), home / "haproxy.cfg"
    config.write_text(written(door, ports))
    with (home / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([HAPROXY, "-db", "-f", str(config)], stdout=log, stderr=log)
    try:
        wait_until(door.is_ready, "the balancer to find a server", process=process)
        yield door
    finally:
        process.terminate()
        process.wait()


class Relay(Door):
    """Carries every connection to the next server that takes it, and knows nothing of what it carries."""

    def __init__(self, ports: Sequence[int]) -> None:
        super().__init__()
        self._ports = [*ports]
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def run(self) -> None:
        """Take connections until closed."""
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._ports.append(self._ports.pop(0))
                threading.Thread(target=self._carry, args=(near, [*self._ports]), daemon=True).start()

    def close(self) -> None:
        """Take no more connections, and cut those that are open."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _carry(self, near: socket.socket, ports: Sequence[int]) -> None:
        with ExitStack() as stack:
            stack.enter_context(near)
            for port in ports:
                with suppress(OSError):
                    far = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                    break
            else:
                return
            with self._lock:
                self._open |= {near, far}
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()
            with self._lock:
                self._open -= {near, far}


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy what comes until one side ends, and tell the other side; a server that was killed ends both."""
    with suppress(OSError):
        while part := source.recv(65_536):
            target.sendall(part)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(ports: Sequence[int]) -> Iterator[Door]:
    """Lend a door with a relay behind it."""
    door = Relay(ports)
    thread = threading.Thread(target=door.run, daemon=True)
    thread.start()
    try:
        wait_until(door.is_ready, "the balancer to find a server")
        yield door
    finally:
        door.close()
        thread.join()


@contextmanager
def balanced(servers: Sequence[HttpServer], home: Path) -> Iterator[Door]:
    """Lend one door for several servers."""
    ports = [each.port for each in servers]
    with relay(ports) if HAPROXY is None else haproxy(ports, home) as door:
        yield door
