"""The log of a process that runs for long: lines for people, or an object a line for programs.

Each object has time, level, logger and message and, while a request is being answered, what is known of it: its id, its
route, its verb, the number of its workspace, and once it is over its status and duration. Refuses to know what
happened.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from everloom.jsontext import to_json
from everloom.secrets import masked, patterns
from everloom.surfaces.web.accounting import RequestAccount, current_request, trace_id

if TYPE_CHECKING:
    from everloom.sections import LogSettings

_TEXT = "%(asctime)s %(levelname)s %(message)s"
# Of packages that others wrote, only what an operator has to know.
_OTHERS = logging.WARNING


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        told["message"] = masked(record.getMessage())
        if (request := current_request()) is not None:
            told |= _about(request)
        if (trace := trace_id()) is not None:
            told["trace_id"] = trace
        if record.exc_info and record.exc_info[0] is not None:
            told["traceback"] = record.exc_text or masked(self.formatException(record.exc_info))
        return to_json(told)


class RequestFormatter(logging.Formatter):
    """Writes a record as a line for people, with the id of the request that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        line = super().format(record)
        request = current_request()
        if request is None:
            return line
        first, *rest = line.split("\n")
        about = ", ".join(f"{name} {value}" for name, value in _about(request).items() if name != "route")
        return "\n".join([f"{first} ({about})", *rest])


def _about(request: RequestAccount) -> dict[str, Any]:
    told: dict[str, Any] = {"request_id": request.id}
    if request.verb is not None:
        told["verb"] = request.verb
    if request.workspace is not None:
        told["workspace"] = request.workspace
    if request.seconds:
        told |= {"method": request.method, "route": request.route, "status": request.status}
        told["duration_ms"] = round(request.seconds * 1000, 1)
    return told


def set_up_server_log(settings: LogSettings, *, verbose: bool) -> None:
    """Send the log of this process to stderr as the settings say; `--verbose` asks for everything."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.format == "json" else RequestFormatter(_TEXT))
    log, others = logging.getLogger("everloom"), logging.getLogger()
    level = "debug" if verbose else settings.level or "warning"
    log.setLevel(level.upper())
    log.handlers[:] = [handler]
    # Other packages give the root logger handlers of their own: every line would be written twice, a line that is no
    # JSON would be lost on the way to where logs are searched, and what such a handler raises would end the program.
    log.propagate = False
    others.handlers[:] = [handler]
    others.setLevel(_OTHERS)
    # Read now: a process that can open no more files has to log that.
    patterns()
