"""Files at the command line: sent with a message, seen in the log, and written out again."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.models.test_media import png
from tests.surfaces.cli.conftest import Call


@pytest.mark.promise("mind.attachments-written-out")
def test_a_file_goes_into_the_conversation_and_comes_out_again(call: Call, tmp_path: Path) -> None:
    (tmp_path / "boat.png").write_bytes(png())
    (tmp_path / "c.toml").write_text('[llm]\nlarge = "scripted:echo"\n')
    config = ("--config", str(tmp_path / "c.toml"))
    sent = call("chat", "--once", "my boat", "--attach", str(tmp_path / "boat.png"), *config, "--json")
    assert "(attached: boat.png, image/png" in sent.envelope["result"]["reply"]
    number = str(sent.envelope["result"]["message"])
    assert "[photo 1: boat.png (image/png" in " ".join(call("mind", "log").out.split())
    (shown,) = [each["attachments"] for each in call("mind", "log", "--json").envelope["result"]["messages"][:1]]
    assert shown[0]["name"] == "boat.png"
    target = tmp_path / "out.png"
    assert call("mind", "attachment", number, "--to", str(target)).code == 0
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (png(), 0o600)
    again = call("mind", "attachment", number, "--to", str(target))
    assert "already exists" in again.err
    assert call("mind", "attachment", number, "--number", "2").code == 3
    assert "boat.png: image/png" in call("mind", "attachment", number).out
    alone = call("chat", "--once", "", "--attach", str(tmp_path / "boat.png"), *config)
    assert (alone.code, "(attached: boat.png" in alone.out) == (0, True)
    assert "is empty" in call("chat", "--once", "", *config).err
    missing = call("chat", "--once", "x", "--attach", str(tmp_path / "none"), *config)
    assert (missing.code, "cannot read" in missing.err) == (2, True)
