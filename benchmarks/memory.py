"""How much memory `everloom mcp` takes over a large workspace: when it has just started, and after its searches.

Run by hand on Linux: `python benchmarks/memory.py --items 100000`. Starts the server over stdio, asks it as an agent
does, and reads the resident set of its process. Prints a table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from everloom.bench.search import fill, questions
from everloom.loom import open_loom
from everloom.settings import Settings

CODE = "from everloom.surfaces.cli import main; main()"
QUESTIONS = 20
WORKSPACE = "bench"


def resident(marker: str) -> float:
    """Read the resident set of the process with this in its command line, in megabytes."""
    for process in Path("/proc").glob("[0-9]*"):
        if process.name != str(os.getpid()) and marker in (process / "cmdline").read_text().split("\0"):
            pages = int((process / "statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    raise RuntimeError("the server is gone")


async def visit(url: str, items: int) -> tuple[float, float]:
    """Start a server, ask it, and say what it takes before and after."""
    arguments = ["-c", CODE, "mcp", "--store", url, "--workspace", WORKSPACE]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))) as client:
        await client.list_tools()
        await asyncio.sleep(2.0)  # what is loaded in the background is loaded then
        before = resident(url)
        for each in questions(items, QUESTIONS):
            answer = await client.call_tool("bring_to_mind", {"topic_or_context": each.question})
            if answer.is_error:
                raise RuntimeError(f"not answered: {answer.content}")
        return before, resident(url)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[10_000, 100_000])
    given = parser.parse_args()
    sys.stdout.write("| items | started MB | after 20 searches MB |\n|---|---|---|\n")
    for items in given.items:
        with TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/loom.db"
            with open_loom(url, settings=Settings()) as loom:
                fill(loom.workspace(WORKSPACE), items, lambda _: None)
            before, after = asyncio.run(visit(url, items))
        sys.stdout.write(f"| {items:,} | {before:.0f} | {after:.0f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
