"""How long `everloom mcp` takes from start to an answered `tools/list`, beside a server of the SDK without any tool.

Both are started in turns, so that a busy machine slows both. Run: python benchmarks/start.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).resolve().parents[1] / "src"
EMPTY = "from mcp.server import MCPServer; MCPServer('empty').run('stdio')"
EVERLOOM = "from everloom.surfaces.cli import main; main()"
TARGET = 1.3

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}


def seconds_to_list(code: str, arguments: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """Start a server, ask for its tools, and measure the wall and the processor's time until it has answered."""
    before, began = os.times(), time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
    )
    if server.stdin is None or server.stdout is None:
        raise RuntimeError("no pipes")
    server.stdin.write(json.dumps(REQUEST).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    took = time.perf_counter() - began
    server.kill()
    server.wait()
    server.stdin.close()
    server.stdout.close()
    if "result" not in answer:
        raise RuntimeError(f"no list of tools: {answer}")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return took, used


def measure(rounds: int) -> dict[str, float]:
    """Start both servers in turns, and compare their medians."""
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": home}
        loom = ["mcp", "--store", f"sqlite:///{home}/loom.db"]
        # Once before it counts: this compiles what was not compiled yet.
        for code, arguments in ((EMPTY, []), (EVERLOOM, loom)):
            seconds_to_list(code, arguments, environ)
        pairs = [(seconds_to_list(EMPTY, [], environ), seconds_to_list(EVERLOOM, loom, environ)) for _ in range(rounds)]
    empty, ours = (median(pair[side][0] for pair in pairs) for side in (0, 1))
    empty_used, ours_used = (median(pair[side][1] for pair in pairs) for side in (0, 1))
    return {
        "empty_seconds": round(empty, 3),
        "everloom_seconds": round(ours, 3),
        "ratio": round(ours / empty, 3),
        "empty_cpu_seconds": round(empty_used, 3),
        "everloom_cpu_seconds": round(ours_used, 3),
        "cpu_ratio": round(ours_used / empty_used, 3),
        "target": TARGET,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 7), indent=2) + "\n")
