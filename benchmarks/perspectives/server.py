"""A small embedding server that speaks OpenAI's wire, over the standard library.

    python -m benchmarks.perspectives.server [--port 8077] [--threads 2]

Runs in the environment of the model and imports nothing of everloom. Its first line says where it answers. Knows the
wire only: what makes the vectors is a function, and here it is all-MiniLM-L6-v2 as a package carries it.
"""

from __future__ import annotations

import argparse
import base64
import json
import struct
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

MODEL = "all-minilm-l6-v2"
LARGEST_BODY = 64_000_000
BATCH = 32

# Makes one vector for each text.
Encode = Callable[[list[str]], Sequence[Sequence[float]]]


class Refused(Exception):
    """A request that cannot be answered, and why."""


def answer(body: bytes, encode: Encode, model: str = MODEL) -> dict[str, object]:
    """Make the reply to the body of one request."""
    try:
        request = json.loads(body)
        texts, form = asked(request["input"]), request.get("encoding_format", "float")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"cannot read the request: {error!r}") from error
    if form not in ("float", "base64"):
        raise Refused(f"there is no encoding_format {form!r}")
    rows = encode(texts)
    data = [
        {"object": "embedding", "index": place, "embedding": packed(row) if form == "base64" else list(row)}
        for place, row in enumerate(rows)
    ]
    words = sum(len(text.split()) for text in texts)
    return {"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": words, "total_tokens": words}}


def asked(given: object) -> list[str]:
    """Read the texts of a request: one, or a list of them."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise TypeError("input is a text or a list of texts, none of them empty")
    return texts


def packed(row: Sequence[float]) -> str:
    """Write a vector as the wire's base64: little-endian floats of four bytes."""
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode("ascii")


def make_server(encode: Encode, port: int = 0, model: str = MODEL) -> ThreadingHTTPServer:
    """Bind a server to this machine alone; port 0 takes any that is free. Vectors are made one request at a time."""
    turn = Lock()

    def in_turn(texts: list[str]) -> Sequence[Sequence[float]]:
        with turn:
            return encode(texts)

    class Handler(BaseHTTPRequestHandler):
        """Answers POST …/embeddings."""

        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # headers and body leave together

        def do_POST(self) -> None:
            """Answer one request."""
            length = int(self.headers.get("Content-Length") or 0)
            if length > LARGEST_BODY:
                self.close_connection = True
                self._reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, failure("too much at once"))
                return
            body = self.rfile.read(length)
            if not self.path.endswith("/embeddings"):
                self._reply(HTTPStatus.NOT_FOUND, failure(f"there is no {self.path}"))
                return
            try:
                self._reply(HTTPStatus.OK, answer(body, in_turn, model))
            except Refused as error:
                self._reply(HTTPStatus.BAD_REQUEST, failure(str(error)))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
            """Say nothing: a line for each request would cost more than it tells."""

        def _reply(self, status: HTTPStatus, value: dict[str, object]) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def failure(message: str) -> dict[str, object]:
    """Write an error as the wire has it."""
    return {"error": {"message": message, "type": "invalid_request_error"}}


def local_model(threads: int | None) -> Encode:
    """Load the model from the disk; nothing is fetched."""
    from benchmarks.peers.adapters.local import load_model  # noqa: PLC0415  heavy

    if threads is not None:
        import torch  # type: ignore[import-not-found]  # noqa: PLC0415  only in the model's environment

        torch.set_num_threads(threads)
    model = load_model()

    def encode(texts: list[str]) -> Sequence[Sequence[float]]:
        rows = model.encode(texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
        return [row.tolist() for row in rows]

    return encode


def remembering(encode: Encode) -> Encode:
    """Make no vector twice: for a run that asks how well, not how fast."""
    known: dict[str, Sequence[float]] = {}

    def recall(texts: list[str]) -> Sequence[Sequence[float]]:
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(fresh, encode(fresh) if fresh else (), strict=True))
        return [known[text] for text in texts]

    return recall


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="any that is free, unless told")
    parser.add_argument("--threads", type=int, metavar="COUNT", help="for arithmetic")
    parser.add_argument("--remember", action="store_true", help="make no vector twice; times then say nothing")
    given = parser.parse_args(arguments)
    encode = local_model(given.threads)
    server = make_server(remembering(encode) if given.remember else encode, given.port)
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/v1\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
