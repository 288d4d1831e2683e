"""Whoever pays is told what models cost: when they wanted to know, where they last wrote, and once."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import SystemClock
from everloom.kernel.spending import Expense, Ledger
from everloom.mind.conversation.alerts import Costs, CostWatch, costs_of, due_alerts
from everloom.mind.ports import AlertLimits, MindSetup
from everloom.models import TokenUsage, UsageRecord
from everloom.store.postgresql.unit import PostgresUnit
from everloom.store.sqlite.unit import SqliteUnit
from everloom.surfaces.cli.commands.usage import summary
from everloom.wiring.usage import alerts_of, money_of
from tests.mind.thinking import worker
from tests.mind.worlds import World, conversation_in, open_place, setup_of
from tests.store.ground import Child

DAY = date(2026, 11, 16)
CODE = "from tests.mind.test_alerts import main; main()"
LIMITS = AlertLimits(dollars_a_day=1.0, dollars_a_month=5.0)


def kinds(limits: AlertLimits, **costs: Any) -> list[str]:
    return [each.kind for each in due_alerts(Costs(day=DAY, **costs), limits)]


@pytest.mark.promise("mind.cost-alerts")
def test_an_alert_is_due_from_its_limit_on_and_not_before() -> None:
    budget = AlertLimits(dollars_a_day=1.0, rise=0)
    assert (kinds(budget, today=0.79), kinds(budget, today=0.8)) == ([], ["budget"])
    assert kinds(replace(budget, budget_share=0.0), today=9.0) == []
    assert kinds(AlertLimits(rise=0), today=9.0, month=99.0) == []
    month = AlertLimits(dollars_a_month=5.0, rise=0)
    assert (kinds(month, month=4.99), kinds(month, month=5.0)) == ([], ["month"])
    assert kinds(replace(month, dollars_a_month=0.0)) == []
    rise = AlertLimits()
    assert (kinds(rise, today=2.9, usual=1.0), kinds(rise, today=3.0, usual=1.0)) == ([], ["rise"])
    assert (kinds(rise, today=0.9, usual=0.1), kinds(rise, today=50.0)) == ([], [])
    assert kinds(replace(rise, rise=0), today=50.0, usual=1.0) == []
    assert (kinds(rise, unpriced="openai:x"), kinds(budget, unpriced="openai:x")) == ([], ["unpriced"])
    every = due_alerts(Costs(day=DAY, today=4.0, month=9.0, usual=1.0, unpriced="openai:x"), LIMITS)
    assert {each.kind: each.period for each in every} == {
        "budget": "2026-11-16",
        "month": "2026-11",
        "rise": "2026-11-16",
        "unpriced": "2026-11",
    }
    assert "models.prices 'openai:x=" in every[-1].message


def test_a_usual_day_is_the_median_of_those_that_cost_something() -> None:
    def spent(back: int, dollars: float | None, failures: int = 0) -> tuple[date, Expense]:
        missing = int(dollars is None)
        expense = Expense("openai:x", "large", "talk", 1, failures, 1, 1, 0, 0, dollars, missing)
        return DAY - timedelta(days=back), expense

    days = [spent(40, 99.0), spent(16, 2.0), spent(3, 1.0), spent(2, 0.0), spent(1, 9.0), spent(0, 0.5), spent(0, 0.25)]
    assert costs_of(days, DAY) == Costs(day=DAY, today=0.75, month=10.75, usual=2.0)
    assert costs_of(days[1:3], DAY).usual is None
    assert costs_of([spent(0, None)], DAY).unpriced == "openai:x"
    assert costs_of([spent(0, None, failures=1), spent(1, None)], DAY).unpriced is None


def spend(setup: MindSetup, dollars: float | None, at: datetime | None = None) -> None:
    model = "openai:something-new" if dollars is None else "anthropic:claude-sonnet-5-5"
    record = UsageRecord(at or setup.op.now, model, "large", "test", TokenUsage(10, 1), dollars, 1)
    Ledger(setup.op.store, setup.op.workspace.id).record(record)


def alerted(world: World) -> list[tuple[str, str]]:
    found = [each for each in reversed(world.conversation.log(limit=200)) if each.text.startswith("(Models have cost")]
    return [(each.channel, each.text) for each in found]


@pytest.mark.promise("mind.cost-alerts")
def test_an_alert_is_told_once_a_day_where_the_person_last_wrote_and_no_model_sees_it(room: World) -> None:
    room.setup = replace(room.setup, policy=replace(room.setup.policy, alerts=LIMITS))
    room.conversation = conversation_in(room.setup, room.left)
    spend(room.setup, 0.9)
    run = worker(room.loom, room.setup)
    assert run("alerts") == {}  # nobody has written who could be told
    assert [each.told_at for each in CostWatch(room.setup).alerts()] == [None]
    room.exchange("Good morning, what is new?")
    (told,) = alerted(room)
    assert told[0] == "terminal"
    assert "$0.90 today: 90% of the day's budget of $1.00" in told[1]
    assert room.conversation.outbox("terminal")[-1].text == told[1]
    assert CostWatch(room.setup).alerts()[0].told_at == room.clock.now()
    room.exchange("And now, what else is new?")
    assert run("alerts") == {}
    assert len(alerted(room)) == 1
    assert all("Models have cost" not in str(body) for body in room.server.talks)
    room.later(days=1)
    spend(room.setup, 4.5)
    room.say("Good morning again.", channel="telegram", address="7")
    assert [each.kind for each in CostWatch(room.setup).tell()] == ["budget", "month"]
    assert [channel for channel, _ in alerted(room)] == ["terminal", "telegram", "telegram"]
    room.later(days=1)
    spend(room.setup, 1.0)
    report = run("alerts")["alerts"].report
    assert report is not None
    assert report.detail == {"kinds": ["budget"]}  # the month has been told
    room.later(days=30)
    spend(room.setup, 6.0)
    assert [each.kind for each in CostWatch(room.setup).tell()] == ["budget", "month"]
    room.assert_valid()


@pytest.mark.promise("mind.cost-alerts")
def test_costs_without_a_known_price_are_called_unknown_everywhere(room: World) -> None:
    limits = AlertLimits(dollars_a_month=5.0)
    setup = replace(room.setup, policy=replace(room.setup.policy, alerts=limits))
    place = room.loom.workspace(setup.op.workspace.name)
    spend(setup, None, room.loom.clock.now())
    today = money_of(place)
    assert (today["dollars"], today["unpriced"], today["month"]) == (None, 1, None)
    total = dict.fromkeys(("prompt_tokens", "output_tokens", "unpriced"), 1) | {"cached_share": None, "calls": 1}
    assert "today price unknown; no daily budget" in "\n".join(summary({**total, "dollars": None}, today))
    room.say("Hello there.")
    (told,) = CostWatch(setup).tell()
    assert told.kind == "unpriced"
    assert "openai:something-new is not known" in told.message
    spend(setup, 0.5, room.loom.clock.now())
    assert "today $0.5000 + unknown;" in "\n".join(summary({**total, "dollars": 0.5}, money_of(place)))
    assert alerts_of(place) == ()  # the loom's own settings have no limits


def tell_and_die(url: str, name: str, statement: int) -> None:
    """Tell what is to be told, and be killed before a statement."""
    left = statement

    def counted(run: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **values: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return run(*arguments, **values)

        return counting

    with open_place(url, SystemClock()) as loom:
        setup = setup_of(loom, Path(), None, name=name, alerts=LIMITS)
        for kind in (SqliteUnit, PostgresUnit):
            for method in ("_execute", "many"):
                setattr(kind, method, counted(getattr(kind, method)))
        CostWatch(setup).tell()


def main() -> None:
    """Fork a process that dies at its first statement, at its second and so on, until one lives; then three at once."""
    url, killed, crowded = sys.argv[1:]
    deaths = 0
    while os.waitstatus_to_exitcode(os.waitpid(_fork(url, killed, deaths), 0)[1]) == -signal.SIGKILL:
        deaths += 1
    for each in [_fork(url, crowded, 1_000) for _ in range(3)]:
        os.waitpid(each, 0)
    sys.stdout.write(f"{deaths}\n")
    sys.stdout.flush()


def _fork(url: str, name: str, statement: int) -> int:
    child = os.fork()
    if not child:
        tell_and_die(url, name, statement)
        os._exit(0)
    return child


@pytest.mark.promise("mind.cost-alerts")
def test_an_alert_is_told_once_although_processes_are_killed_and_meet(store_url: str) -> None:
    names = ("killed", "crowded")
    with open_place(store_url, SystemClock()) as loom:
        for name in names:
            setup = setup_of(loom, Path(), None, name=name, alerts=LIMITS)
            spend(setup, 7.0)
            conversation_in(setup, []).receive("Hello there.", channel="terminal")
    with Child(CODE, store_url, *names) as child:
        deaths = int(child.line())
    assert 8 < deaths < 60
    with open_place(store_url, SystemClock()) as loom:
        for name in names:
            setup = setup_of(loom, Path(), None, name=name, alerts=LIMITS)
            told = [each.text for each in conversation_in(setup, []).outbox("terminal")]
            assert sorted(re.split("[:;]", text)[0] for text in told) == [
                "(Models have cost $7.00 this month",
                "(Models have cost $7.00 today",
            ]
            assert CostWatch(setup).tell() == []
