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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.docs.pages import ROOT
from tests.histories.surfaces import Door
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


class Balancer(Door, ABC):
    """One door for several servers."""

    @abstractmethod
    def start(self) -> None:
        """Begin to take connections."""

    @abstractmethod
    def cut(self) -> None:
        """Break every connection: whoever waits for an answer does not hear it, though the server may have given it."""

    @abstractmethod
    def close(self) -> None:
        """End."""


class Haproxy(Balancer):
    """HAProxy, as a process that can be killed."""

    def __init__(self, ports: Sequence[int], home: Path) -> None:
        super().__init__()
        self._config = home / "haproxy.cfg"
        self._config.write_text(written(self, ports))
        self._log = home / "haproxy.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it has found a server."""
        assert HAPROXY is not None
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([HAPROXY, "-db", "-f", str(self._config)], stdout=log, stderr=log)
        wait_until(self.is_ready, "the balancer to find a server", process=self._process)

    def cut(self) -> None:
        """Kill it, and start it again."""
        self.close()
        self.start()

    def close(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Relay(Balancer):
    """Carries every connection to the next server that takes it, and knows nothing of what it carries."""

    def __init__(self, ports: Sequence[int]) -> None:
        super().__init__()
        self._ports = [*ports]
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to carry, and wait until there is a server."""
        self._thread.start()
        wait_until(self.is_ready, "the relay to find a server")

    def cut(self) -> None:
        """Cut the connections that are open."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take no more connections, and cut those that are open."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        self._thread.join()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._ports.append(self._ports.pop(0))
                threading.Thread(target=self._carry, args=(near, [*self._ports]), daemon=True).start()

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


def balancer_of(ports: Sequence[int], home: Path) -> Balancer:
    """Choose the balancer that can be had here."""
    return Relay(ports) if HAPROXY is None else Haproxy(ports, home)
