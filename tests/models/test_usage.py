"""What is promised about prices and budgets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everloom.errors import ProviderRefused
from everloom.models.usage import Budget, TokenUsage, UsageRecord, cost

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SONNET = "anthropic:claude-sonnet-5-5"


def record(usage: TokenUsage, dollars: float | None = None) -> UsageRecord:
    return UsageRecord(NOW, SONNET, "large", "test", usage, dollars, 1)


def test_cost_is_priced_per_million_tokens_of_each_sort() -> None:
    million = 1_000_000
    assert cost(TokenUsage(input=million), SONNET) == pytest.approx(2.0)
    assert cost(TokenUsage(output=million), SONNET) == pytest.approx(10.0)
    assert cost(TokenUsage(cached_read=million), SONNET) == pytest.approx(0.2)
    assert cost(TokenUsage(cached_written=million), SONNET) == pytest.approx(2.5)


def test_a_dated_model_costs_what_its_family_costs() -> None:
    assert cost(TokenUsage(1_000), f"{SONNET}-20261021") == cost(TokenUsage(1_000), SONNET)


def test_local_models_are_free_and_unknown_ones_have_no_price() -> None:
    assert cost(TokenUsage(1_000, 1_000), "ollama:llama4") == 0
    assert cost(TokenUsage(1_000), "openai:something-new") is None
    assert cost(TokenUsage(1_000), "anthropic:claude-sonnet-5") is None


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
    assert TokenUsage(1, 2, 3, 4).prompt == 8
    assert TokenUsage(1, 2, 3, 4).total == 10
