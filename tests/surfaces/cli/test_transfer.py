"""`everloom export`, `import` and `move` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.surfaces.cli.conftest import Call, filled


def test_a_memory_is_taken_along_and_comes_back(calling: Callable[[str], Call], store_url: str, tmp_path: Path) -> None:
    call, folder = calling(store_url), str(tmp_path / "out")
    filled(store_url, "James sails.")
    done = call("export", folder, "--json").result
    assert done["workspaces"]["default"]["document"] >= 1
    assert call("export", folder).code == 1
    assert call("export", folder, "--all", "-w", "default").code == 2
    assert call("export", str(tmp_path / "cogx"), "--format", "cogx", "--all").code == 2
    assert call("export", str(tmp_path / "cogx"), "--format", "cogx").code == 0
    assert (
        call("export", str(tmp_path / "server"), "--format", "server-memory", "--json").result["form"]
        == "server-memory"
    )
    refused = call("import", folder, "--json")
    assert (refused.code, refused.error["code"]) == (1, "conflict")
    assert "--as" in refused.error["hint"]
    assert call("import", str(tmp_path / "nothing"), "--json").error["code"] == "not_found"
    assert "would come in" in call("import", folder, "--as", "again", "--dry-run").out
    came = call("import", folder, "--as", "again", "--json").result["workspaces"][0]
    assert (came["name"], came["was_called"]) == ("again", "default")
    assert "James sails." in call("search", "sails", "-w", "again").out
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format_version": 9}))
    assert call("import", folder, "--as", "third").code == 2


def test_a_workspace_moves_and_its_name_says_where(
    calling: Callable[[str], Call], store_url: str, tmp_path: Path
) -> None:
    call, other = calling(store_url), f"sqlite://{tmp_path}/other.db"
    filled(store_url, "James sails.")
    assert call("move", "nobody", "--to", other).code == 3
    assert call("move", "default", "--to", "https://example.org").code == 2
    assert call("move", "default", "--to", other, "--stay", "--json").error["code"] == "conflict"
    done = call("move", "default", "--to", other, "--as", "james", "--json").result
    assert (done["workspace"], done["name"], done["resumed"]) == ("default", "james", False)
    gone = call("search", "sails", "--json")
    assert (gone.code, gone.error["code"]) == (3, "workspace_gone")
    assert "other.db" in gone.error["message"]
    assert "James sails." in calling(other)("search", "sails", "-w", "james").out
    assert call("move", "default", "--to", other, "--as", "james", "--json").result["resumed"] is True
    assert call("workspace", "remove", "default", "--yes").code == 0
    assert call("workspace", "create", "default").code == 0
