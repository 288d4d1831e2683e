"""A server without the extra for the page: everything else works, and the first page says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.patience import PATIENCE, reading, wait_until
from tests.surfaces.mcp.ground import environment

# As if the packages were not installed: Python then finds no such module.
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("jinja2", "markdown_it", "nh3")))
from everloom.surfaces.cli import main
main()
"""


@pytest.mark.promise("page.is-an-extra")
def test_without_the_extra_nothing_breaks_and_the_first_page_says_what_to_install(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        WITHOUT,
        "serve",
        "--port",
        "0",
        "--json",
        "--store",
        f"sqlite://{tmp_path}/loom.db",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)) as process:
        try:
            assert process.stdout is not None
            with reading(process, "the server to say where it is"):
                url = json.loads(process.stdout.readline())["serving"]
            with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
                wait_until(lambda: client.get("/ready").status_code == 200, "the server to be ready", process=process)
                told = client.get("/")
                body = {"subject_names": ["James"], "content": "James sails."}
                made = client.post("/api/v1/semantic/remember", json=body)
        finally:
            process.terminate()
    assert (told.status_code, made.status_code) == (200, 200)
    assert "pip install 'everloom[web]'" in told.text
