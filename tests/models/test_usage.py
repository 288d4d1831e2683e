"""What is promised about prices and budgets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everloom.errors import ProviderRefused, Rejected
from everloom.models.catalog import BUILT_IN, Catalog, openai_window, read_price, read_window
from everloom.models.usage import Budget, DayBudget, TokenUsage, UsageRecord
from everloom.settings import load

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SONNET = "anthropic:claude-sonnet-5-5"


cost = BUILT_IN.cost


def record(usage: TokenUsage, dollars: float | None = None) -> UsageRecord:
    return UsageRecord(NOW, SONNET, "large", "test", usage, dollars, 1)


def test_cost_is_priced_per_million_tokens_of_each_sort() -> None:
    half = 50_000
    assert cost(TokenUsage(input=half), SONNET) == pytest.approx(0.1)
    assert cost(TokenUsage(output=half), SONNET) == pytest.approx(0.5)
    assert cost(TokenUsage(cached_read=half), SONNET) == pytest.approx(0.005)
    assert cost(TokenUsage(cached_written=half), SONNET) == pytest.approx(0.125)
    assert cost(TokenUsage(cached_written=half, cached_hour=half), SONNET) == pytest.approx(0.2)


def test_a_dated_model_costs_what_its_family_costs_and_another_model_does_not() -> None:
    for dated in (f"{SONNET}-20261021", f"{SONNET}-latest", "anthropic:claude-haiku-4-5-20251001"):
        assert cost(TokenUsage(1_000), dated) is not None
    assert cost(TokenUsage(1_000), f"{SONNET}-20261021") == cost(TokenUsage(1_000), SONNET)
    assert cost(TokenUsage(1_000), "anthropic:claude-haiku-5") is None
    assert cost(TokenUsage(1_000), "openai:gpt-5.4-pro") is None


def test_local_models_are_free_and_unknown_ones_have_no_price() -> None:
    assert cost(TokenUsage(1_000, 1_000), "ollama:llama4") == 0
    assert cost(TokenUsage(1_000), "openai:something-new") is None
    assert cost(TokenUsage(1_000), "anthropic:claude-mythos-5-2") is None


@pytest.mark.promise("models.prices")
def test_a_request_that_is_longer_than_a_price_holds_has_another_or_none() -> None:
    haiku, sol = "anthropic:claude-haiku-5-5", "openai:gpt-6.1-sol"
    assert cost(TokenUsage(20_000, 0, 80_000), haiku) == pytest.approx(0.002 + 0.0008)
    assert cost(TokenUsage(20_000, 0, 80_001), haiku) == pytest.approx(0.01 + 0.004, rel=1e-4)
    assert cost(TokenUsage(272_000), sol) == pytest.approx(0.544)
    assert cost(TokenUsage(272_001), sol) is None


@pytest.mark.promise("models.prices")
def test_every_built_in_price_says_when_it_held_and_reads_from_the_cache_are_no_dearer_than_input() -> None:
    listed = BUILT_IN.listed()
    assert len(listed) > 30
    for each in listed:
        assert (each.as_of is None) == (each.price is None), each.name
        if each.price is not None:
            assert 0 <= each.price.cached_read <= each.price.input <= each.price.cached_written, each.name
            assert each.price.input < each.price.output, each.name
            assert each.price.hour >= each.price.cached_written, each.name


@pytest.mark.promise("models.prices")
def test_settings_override_prices_and_add_some() -> None:
    catalog = Catalog(
        dict(map(read_price, ("claude-sonnet-5-5=1/5/0.5/2/3", "openai:mine=2/10", "ollama:cloud=1/1", "free=0/0"))),
        dict([read_window("mine=64_000")]),
    )
    whole = TokenUsage(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert catalog.cost(whole, f"{SONNET}-20261021") == pytest.approx(1 + 5 + 0.5 + 2)
    assert catalog.cost(whole, "openai:mine") == pytest.approx(2 + 10 + 2 + 2)
    assert catalog.cost(whole, "anthropic:mine") is None
    assert catalog.cost(whole, "ollama:cloud") == pytest.approx(4)
    assert [catalog.facts(SONNET).price.hour, catalog.facts("openai:mine").price.hour] == [3, 4]  # type: ignore[union-attr]
    assert catalog.price("openai:free").is_free  # type: ignore[union-attr]
    assert openai_window("mine", catalog) == 64_000
    DayBudget(1.0, lambda: 99.0, catalog).choose("openai:free", "openai:free")
    Budget(dollars=1, catalog=catalog).admit("openai:mine")
    assert {each.name: each.source for each in catalog.listed()}["openai:mine"] == "settings"


@pytest.mark.parametrize(
    "said",
    [
        "mine",
        "=1/2",
        "mine=",
        "mine=1",
        "mine=a/b",
        "mine=1/2/3/4/5/6",
        "mine=-1/2",
        "mine=nan/1",
        "mine=inf/1",
        "m=1//2",
    ],
)
def test_a_price_that_makes_no_sense_is_refused_with_how_to_write_it(said: str) -> None:
    with pytest.raises(ValueError, match=r"MODEL=|prices"):
        read_price(said)
    with pytest.raises(Rejected, match=r"models\.prices") as refused:
        load(flags={"models.prices": f"good=1/2,{said}"}, environ={})
    assert "input_value" not in str(refused.value)


def test_a_spent_budget_refuses() -> None:
    tokens, dollars = Budget(tokens=100), Budget(dollars=0.01)
    tokens.admit("openai:something-new")
    dollars.admit(SONNET)
    tokens.spend(record(TokenUsage(60, 20, 20)))
    dollars.spend(record(TokenUsage(10), dollars=0.02))
    for budget in (tokens, dollars):
        with pytest.raises(ProviderRefused, match="spent"):
            budget.admit(SONNET)


def test_a_budget_in_dollars_refuses_a_model_without_a_price() -> None:
    with pytest.raises(ProviderRefused, match="price is not known"):
        Budget(dollars=1).admit("openai:something-new")
    Budget(dollars=1).admit("ollama:llama4")


def test_usages_add_up() -> None:
    assert TokenUsage(1, 2, 3, 4) + TokenUsage(10, 20, 30, 40) == TokenUsage(11, 22, 33, 44)
    assert TokenUsage(1, 2, 3, 4).prompt == TokenUsage(1, 2, 3, 4, 4).prompt == 8
    assert TokenUsage(1, 2, 3, 4).total == 10
