"""Who converses: the large model, and the small one once the day's dollars are spent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from everloom.errors import ProviderRefused, Rejected
from everloom.models import Budget, DayBudget, Meter
from everloom.models.providers import ProviderAccess, Role, Roles
from everloom.models.talk import TalkRequest, TextBlock, Turn
from tests.models.conftest import access_to
from tests.scripted.claude import ClaudeServer

LARGE, SMALL = "anthropic:claude-opus-5-5", "anthropic:claude-haiku-5-5"
HI = TalkRequest("", (Turn("user", (TextBlock("Hi."),)),))


def roles(spent: Callable[[], float], *, large: str = LARGE, small: str | None = SMALL, dollars: float = 1.0) -> Roles:
    return Roles(large=large, small=small, access=ProviderAccess(), day=DayBudget(dollars, spent))


@pytest.mark.promise("mind.day-budget")
def test_a_spent_day_converses_with_the_small_model_until_the_next() -> None:
    spent = [0.0]
    both = roles(lambda: spent[0])
    assert (both.talker().name, both.talker().role) == (LARGE, "large")
    spent[0] = 1.0
    assert (both.talker().name, both.talker().role) == (SMALL, "small")
    spent[0] = 0.2  # the next day, or as another process counts it
    assert both.talker().name == LARGE


@pytest.mark.promise("mind.day-budget")
def test_a_restart_does_not_forget_what_was_spent() -> None:
    assert roles(lambda: 1.5).talker().name == SMALL


@pytest.mark.parametrize("small", [None, "openai:something-new"], ids=["the same", "without a price"])
def test_a_spent_day_refuses_when_the_small_model_is_no_help(small: str | None) -> None:
    with pytest.raises(ProviderRefused, match=r"today's \$1\.00.*spent.*dollars_a_day"):
        roles(lambda: 2.0, small=small).talker()


def test_a_day_in_dollars_refuses_a_model_without_a_price() -> None:
    with pytest.raises(ProviderRefused, match="price is not known"):
        roles(lambda: 0.0, large="openai:something-new").talker()


def test_a_free_model_is_never_too_dear() -> None:
    assert roles(lambda: 99.0, large="ollama:llama").talker().name == "ollama:llama"
    assert roles(lambda: 99.0, small="ollama:llama").talker().name == "ollama:llama"


def test_without_a_budget_nothing_is_asked() -> None:
    def fail() -> float:
        raise AssertionError

    unlimited = Roles(large=LARGE, small=SMALL, access=ProviderAccess(), day=DayBudget(None, fail))
    assert unlimited.talker().name == LARGE
    assert Roles(large=LARGE, access=ProviderAccess()).talker(Role.SMALL).name == LARGE


def test_each_role_has_one_talker_whoever_asks() -> None:
    both = roles(lambda: 0.0)
    assert both.talker(Role.SMALL).name == SMALL
    with ThreadPoolExecutor(8) as pool:
        assert len({id(talker) for talker in pool.map(lambda _: both.talker(), range(64))}) == 1


def test_no_model_is_said_with_what_to_set() -> None:
    with pytest.raises(Rejected, match=r"llm\.large"):
        Roles(access=ProviderAccess()).talker()


def test_the_budget_of_the_process_stops_a_conversation(claude: ClaudeServer) -> None:
    meter = Meter(budget=Budget(dollars=0.000_001))
    talker = Roles(large=LARGE, access=access_to(claude.url), meter=meter).talker()
    talker.talk(HI)
    with pytest.raises(ProviderRefused, match="budget"):
        talker.talk(HI)
    assert len(claude.talks) == 1
