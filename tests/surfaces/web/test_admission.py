"""Who is let in by address and by rate."""

from __future__ import annotations

import pytest

from everloom.surfaces.web.admission import MOST_CALLERS, CallerBudget, Rules, is_welcome_host, is_welcome_origin
from everloom.surfaces.web.serving import rules_for

HERE = rules_for("127.0.0.1")
EVERYWHERE = rules_for("0.0.0.0", hosts=("Memory.example",))


@pytest.mark.promise("web.host-and-origin")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "127.1.2.3"])
def test_this_machine_answers_to_its_own_names(host: str) -> None:
    assert is_welcome_host(host, HERE)


@pytest.mark.promise("web.host-and-origin")
@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1@evil.example",
        "10.0.0.7",
        "a b",
        "localhost:99999999",
        "[::1",
    ],
)
def test_a_name_that_was_pointed_here_is_refused(host: str | None) -> None:
    assert not is_welcome_host(host, HERE)


def test_beyond_this_machine_addresses_and_allowed_names_are_welcome() -> None:
    assert [host for host in ("10.0.0.7:80", "[fe80::1]", "memory.example", "MEMORY.EXAMPLE:443", "localhost")
            if not is_welcome_host(host, EVERYWHERE)] == []  # fmt: skip
    assert not is_welcome_host("evil.example", EVERYWHERE)


@pytest.mark.promise("web.host-and-origin")
@pytest.mark.parametrize(
    ("origin", "is_welcome"),
    [
        (None, True),
        ("http://127.0.0.1:8765", True),
        ("HTTP://127.0.0.1:8765", True),
        ("http://localhost:3000", False),
        ("https://evil.example", False),
        ("null", False),
        ("", False),
        ("file://127.0.0.1:8765", False),
        ("http://inspector.example", True),
    ],
)
def test_only_this_servers_own_page_and_allowed_ones_may_call(origin: str | None, is_welcome: bool) -> None:
    rules = rules_for("127.0.0.1", origins=("http://Inspector.example/",))
    assert is_welcome_origin(origin, "127.0.0.1:8765", rules) == is_welcome


def test_an_address_beyond_this_machine_needs_a_token() -> None:
    assert [host for host in ("0.0.0.0", "::", "10.0.0.7", "memory.example") if not rules_for(host).needs_token] == []
    assert [host for host in ("127.0.0.1", "localhost", "::1", "[::1]") if rules_for(host).needs_token] == []


@pytest.mark.promise("web.limits")
def test_a_caller_who_asks_too_often_waits_and_others_do_not() -> None:
    patience = CallerBudget(per_second=10, burst=3)
    assert [patience.spend("a", 0.0) for _ in range(3)] == [0, 0, 0]
    assert patience.spend("a", 0.0) == pytest.approx(0.1)
    assert patience.spend("b", 0.0) == 0
    assert patience.spend("a", 0.1) == 0
    assert patience.spend("a", 0.1) > 0


def test_rest_fills_no_more_than_a_burst() -> None:
    patience = CallerBudget(per_second=10, burst=3)
    patience.spend("a", 0.0)
    assert [patience.spend("a", 1000.0) for _ in range(3)] == [0, 0, 0]
    assert patience.spend("a", 1000.0) > 0


def test_callers_without_number_take_no_memory_without_bound() -> None:
    patience = CallerBudget(per_second=1, burst=1)
    for number in range(MOST_CALLERS + 10):
        patience.spend(str(number), 0.0)
    assert patience.spend("0", 0.0) == 0
    assert len(vars(patience)["_left"]) == MOST_CALLERS


def test_rules_without_arguments_are_the_strictest() -> None:
    assert not is_welcome_host("example.org", Rules())
