"""/model: which model answers in a sitting, within what is known and what a day may cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from everloom.errors import ProviderDenied, Rejected
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.cli.commands.terminal.choosing import ModelChoice
from tests.scripted.claude import ClaudeServer

SONNET, HAIKU, OPUS = (f"anthropic:claude-{name}-5-5" for name in ("sonnet", "haiku", "opus"))


def settings_of(folder: Path, url: str, small: str | None, dollars: float | None) -> Settings:
    """Settings with Anthropic's models, which a scripted server plays."""
    known: dict[str, Any] = {
        "llm": {"large": SONNET, "small": small},
        "mind": {"notes": folder / "notes", "dollars_a_day": dollars, "gather_seconds": 0},
        "provider": {"anthropic_base": url},
        "secrets": {"anthropic_api_key": "sk-ant-nobody"},
    }
    return Settings.model_validate(known)


@pytest.mark.promise("mind.chat-model")
def test_a_model_is_chosen_for_now_or_for_good_and_the_days_budget_holds(tmp_path: Path) -> None:
    kept: list[str] = []

    def keep(model: str) -> str:
        kept.append(model)
        return "kept"

    with ClaudeServer() as claude:
        settings = settings_of(tmp_path, claude.url, HAIKU, 0.005)
        with open_loom(f"sqlite://{tmp_path}/loom.db", settings=settings) as loom:
            place = loom.workspace()
            choice, talk = ModelChoice(loom, place.info, keep), place.mind.conversation
            assert choice.roles == {"large": SONNET, "small": HAIKU}
            assert OPUS in choice.others()
            assert "from now on; --keep" in choice.choose("claude-opus-5-5", keep=False)
            assert place.mind.talk_status().model == OPUS
            assert kept == []
            for unknown in ("openai:gpt-9", "claude-nobody", "anthropic:claude-nobody-1", "sonnet"):
                with pytest.raises(Rejected, match="neither configured"):
                    choice.choose(unknown, keep=True)
            talk.receive("Hello " * 500, channel="terminal", is_whole=True)
            exchange = talk.step()
            assert exchange is not None
            assert (exchange.model, (exchange.dollars or 0) > 0.005) == (OPUS, True)
            # The day's dollars are spent: no choice brings back what they paid for.
            assert place.mind.talk_status().model == HAIKU
            assert f"and {HAIKU} until then; kept" in choice.choose("large", keep=True)
            assert place.mind.talk_status().model == HAIKU
            assert kept == [SONNET]
            assert "from now on" in choice.choose("small", keep=False)
        alone = settings_of(tmp_path, claude.url, None, 0.005)
        with open_loom(f"sqlite://{tmp_path}/loom.db", settings=alone) as loom:
            choice = ModelChoice(loom, loom.workspace().info, keep)
            with pytest.raises(ProviderDenied, match="spent"):
                choice.choose(OPUS, keep=True)
        # One model for everything is not a smaller one.
        alone = settings_of(tmp_path, claude.url, SONNET, 0.005)
        with open_loom(f"sqlite://{tmp_path}/loom.db", settings=alone) as loom:
            choice = ModelChoice(loom, loom.workspace().info, keep)
            with pytest.raises(ProviderDenied, match="spent"):
                choice.choose("small", keep=True)
        assert kept == [SONNET]
        assert {body["model"] for body in claude.talks} == {"claude-opus-5-5"}
