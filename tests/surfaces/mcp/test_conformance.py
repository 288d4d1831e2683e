"""The conformance suite of the protocol against a real server: it finds what `conformance.toml` says, no more, no less.

`python -m tests.surfaces.mcp.test_conformance FOLDER` lists the failures in a folder of results, to renew that file.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.nodes import installed
from tests.surfaces.mcp.ground import server_process

KNOWN: dict[str, Any] = tomllib.loads(Path(__file__).with_name("conformance.toml").read_text(encoding="utf-8"))
REVISIONS: list[str] = list(KNOWN["passed"])
PAGE = ROOT / "docs" / "standards.md"


def outcomes(folder: Path) -> tuple[int, set[str]]:
    """Count the checks that passed, and name those that failed: scenario and check."""
    passed, failed = 0, set()
    for result in folder.glob("server-*/checks.json"):
        # The folder of a scenario ends with the time of the run.
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", result.parent.name)
        for check in json.loads(result.read_text(encoding="utf-8")):
            passed += check["status"] == "SUCCESS"
            if check["status"] == "FAILURE":
                failed.add(f"{scenario}: {check['id']}")
    return passed, failed


def left_out(revision: str) -> set[str]:
    return {check for reason in KNOWN["left_out"] for check in reason.get(revision, ())}


@pytest.mark.long
@pytest.mark.promise("mcp.conformance")
def test_the_conformance_suite_misses_only_what_is_left_out_on_purpose(tmp_path: Path) -> None:
    programs = installed(tmp_path / "npm", KNOWN["package"])
    with server_process(tmp_path, tmp_path / "loom.db") as url:
        for revision in REVISIONS:
            results = tmp_path / revision
            run = programs.run(
                "conformance", "server", "--url", f"{url}/mcp", "--requirements", revision, "-o", str(results)
            )
            passed, failed = outcomes(results)
            assert passed, run.stdout[-2_000:] + run.stderr[-2_000:]
            assert (revision, failed) == (revision, left_out(revision))
            assert (revision, passed) == (revision, KNOWN["passed"][revision])


def test_the_page_tells_what_the_conformance_suite_found() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for revision in REVISIONS:
        assert f"| {revision} | {KNOWN['passed'][revision]} | {len(left_out(revision))} |" in page
    for reason in KNOWN["left_out"]:
        assert reason["why"] in " ".join(page.split())
    assert KNOWN["package"] in page


if __name__ == "__main__":
    number, names = outcomes(Path(sys.argv[1]))
    print(number, *sorted(names), sep="\n")  # noqa: T201
