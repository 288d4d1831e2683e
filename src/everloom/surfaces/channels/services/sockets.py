"""A WebSocket to a service that speaks JSON: opened, heard with patience, told, and closed with a code.

Knows no service. Its address may hold a ticket, so it is neither logged nor part of an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from everloom.errors import Rejected
from everloom.surfaces.channels.services.calls import ServiceBusy, quieten

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_OPEN_SECONDS = 20.0
_MOST_BYTES = 16_000_000


class SocketClosed(ServiceBusy):
    """A service closed the connection; `code` says why."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


def require_sockets(service: str) -> None:
    """Check that the package for WebSockets is installed."""
    if find_spec("websockets") is None:
        raise Rejected(f"{service} needs the package websockets", hint="pip install 'everloom[channels]'")


class Socket:
    """One connection; with `pings`, silence of the service ends it."""

    def __init__(self, service: str, url: str, *, pings: bool) -> None:
        from websockets.exceptions import WebSocketException  # noqa: PLC0415  part of an extra
        from websockets.sync.client import connect  # noqa: PLC0415

        quieten()
        self._service = service
        try:
            opened = connect(
                url,
                open_timeout=_OPEN_SECONDS,
                close_timeout=1.0,
                max_size=_MOST_BYTES,
                ping_interval=20.0 if pings else None,
            )
            # A context by the library's wish; it lives as long as this object, and `close` ends it.
            self._line: ClientConnection = ExitStack().enter_context(opened)
        except (OSError, WebSocketException, ValueError) as error:
            raise ServiceBusy(f"{service} cannot be connected to ({type(error).__name__})") from None

    def hear(self, seconds: float) -> Mapping[str, Any] | None:
        """Wait for what the service says next; None if it says nothing for so long."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  part of an extra

        try:
            said = json.loads(self._line.recv(timeout=max(seconds, 0.0)))
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise self._ended(error) from None
        except ValueError:
            raise ServiceBusy(f"{self._service} said something that is not JSON") from None
        return said if isinstance(said, dict) else {}

    def tell(self, value: Mapping[str, Any]) -> None:
        """Say something to the service."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  part of an extra

        try:
            self._line.send(json.dumps(value))
        except ConnectionClosed as error:
            raise self._ended(error) from None

    def _ended(self, error: Any) -> SocketClosed:
        code = error.rcvd.code if error.rcvd is not None else 0
        return SocketClosed(f"{self._service} closed the connection ({code or 'without a word'})", code)

    def close(self, code: int = 1000) -> None:
        """Close the connection."""
        from websockets.exceptions import WebSocketException  # noqa: PLC0415  part of an extra

        with suppress(OSError, WebSocketException):
            self._line.close(code)
