"""The settings file is written and changed without losing anything."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from everloom.errors import EverloomError, Rejected
from everloom.settings import Settings, load
from everloom.surfaces.cli.commands.setup.config import write_setting
from everloom.surfaces.cli.commands.setup.toml import edited, template, write_text

MINE = """\
# keep me
[store]
url = "sqlite:///a.db"  # and me

[llm]
# large = "anthropic:x"
small = 'ollama:"small"'   # me too
"""


def test_the_written_file_sets_nothing_that_was_not_chosen(tmp_path: Path) -> None:
    file = tmp_path / "everloom.toml"
    file.write_text(template({"workspace.name": "james"}))
    settings, origins = load(file, environ={})
    assert settings.workspace.name == "james"
    assert [origin.name for origin in origins if origin.source == str(file)] == ["workspace.name"]


def test_every_default_that_the_file_shows_is_valid_when_taken_up(tmp_path: Path) -> None:
    file = tmp_path / "everloom.toml"
    shown = [
        line.removeprefix("# ") if " = " in line and "…" not in line else line for line in template({}).splitlines()
    ]
    file.write_text("\n".join(line for line in shown if not line.startswith("A line that")))
    assert load(file, environ={})[0] == Settings()


def test_a_table_of_settings_is_written_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "everloom.toml"
    with pytest.raises(Rejected, match=r"mind\.mcp is a table"):
        write_setting(file, "mind.mcp", '{"boat": {"command": "boat"}}')
    assert not file.exists()


def test_a_change_keeps_every_comment_and_every_other_line() -> None:
    changed = edited(MINE, "store.url", "sqlite:///b.db")
    assert changed == MINE.replace("a.db", "b.db")
    taken_up = edited(MINE, "llm.large", "ollama:y")
    assert taken_up == MINE.replace('# large = "anthropic:x"', 'large = "ollama:y"')


def test_a_new_name_joins_its_section_and_a_new_section_comes_last() -> None:
    assert "dollars = 2.5\n# large" in edited(MINE, "llm.dollars", 2.5)
    assert edited(MINE, "embed.models", ("a:b", "c:d")).endswith('\n\n[embed]\nmodels = ["a:b", "c:d"]\n')
    assert edited("", "llm.large", "ollama:x") == '[llm]\nlarge = "ollama:x"\n'


def test_a_change_that_is_not_safe_is_refused() -> None:
    spread = '[embed]\nmodels = [\n  "a:b",\n]\n'
    with pytest.raises(Rejected, match="without changing other lines"):
        edited(spread, "embed.models", ("c:d",))


@given(some.text())
def test_any_text_can_be_set_or_is_refused(value: str) -> None:
    try:
        changed = edited(MINE, "llm.large", value)
    except (Rejected, UnicodeEncodeError):
        return
    assert tomllib.loads(changed)["llm"]["large"] == value
    assert "# keep me" in changed


def test_a_file_is_replaced_whole_with_its_mode_and_through_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, "new")
    assert real.read_text() == "new"
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.toml", "real.toml"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EverloomError, match="cannot write"):
        write_text(tmp_path / "file" / "everloom.toml", "text")
