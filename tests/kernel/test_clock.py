"""The range of times: no date that anybody writes or that a store contains raises in any time zone."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everloom
from everloom.clock import (
    EARLIEST,
    LATEST,
    checked_instant,
    clamped,
    from_micros,
    from_seconds,
    instant_in,
    midnight,
    moved,
    pause_of,
    read_instant,
    shown,
    to_micros,
)
from everloom.errors import Rejected
from everloom.kernel.search.when import anchor_in, spans_in, timed

# The ends of the offsets that are in use, zones that change their clocks, and those whose old offset has seconds.
ZONES = [
    ZoneInfo(name)
    for name in (
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Pacific/Kiritimati",
        "Etc/GMT+12",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "America/Juneau",
        "Asia/Manila",
    )
]
_DAY = timedelta(days=1)
_NEAR_AN_END = st.one_of(
    st.datetimes(max_value=EARLIEST.replace(tzinfo=None) + 90 * _DAY),
    st.datetimes(min_value=LATEST.replace(tzinfo=None) - 60 * _DAY),
    st.datetimes(),
)
zones = st.sampled_from(ZONES)
offsets = st.integers(-24 * 60 + 1, 24 * 60 - 1).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.builds(lambda at, zone: at.replace(tzinfo=zone), _NEAR_AN_END, st.one_of(zones, offsets))


@given(instants, zones)
def test_a_time_is_refused_or_every_zone_can_show_it(at: datetime, zone: ZoneInfo) -> None:
    kept = clamped(at)
    if EARLIEST <= at <= LATEST:
        assert checked_instant(at) == at == kept
    else:
        with pytest.raises(Rejected, match="out of range") as refused:
            checked_instant(at)
        assert "0001-01-02" in str(refused.value.hint)
    assert EARLIEST <= kept <= LATEST
    assert kept.tzinfo is UTC
    assert shown(at, zone)
    assert instant_in(kept.astimezone(zone).isoformat()) == kept
    assert from_micros(to_micros(at)) == kept == instant_in(at.isoformat())


@given(st.integers(-(2**63), 2**63 - 1), zones)
def test_any_number_in_a_store_is_a_time_in_every_zone(micros: int, zone: ZoneInfo) -> None:
    at = from_micros(micros)
    assert EARLIEST <= at <= LATEST
    assert shown(at, zone)
    day = at.astimezone(zone).date()
    assert abs(to_micros(midnight(day, zone)) - to_micros(at)) < 2 * _DAY // timedelta(microseconds=1)


@given(instants, st.timedeltas())
def test_a_time_is_never_moved_beyond_the_range(at: datetime, by: timedelta) -> None:
    assert EARLIEST <= moved(at, by) <= LATEST


@given(st.floats(allow_nan=False) | st.integers() | st.just(10**400))
def test_any_number_of_seconds_is_a_time(seconds: float) -> None:
    assert EARLIEST <= from_seconds(seconds) <= LATEST


@given(instants.map(clamped), st.floats())
def test_no_server_can_ask_for_a_pause_without_end(now: datetime, seconds: float) -> None:
    assert moved(now, pause_of(seconds)) - now <= _DAY


def test_what_is_no_number_of_seconds_is_no_time() -> None:
    with pytest.raises(ValueError, match="not a number"):
        from_seconds(float("nan"))


@given(st.dates(), zones, st.booleans())
def test_a_day_that_a_person_writes_is_a_time_or_a_clear_error(day: date, zone: ZoneInfo, ends: bool) -> None:
    is_near_an_end = day < date(1, 1, 4) or day > date(9999, 12, 28)
    with suppress(Rejected) if is_near_an_end else nullcontext():
        at = read_instant(day.isoformat(), zone, end_of_day=ends)
        assert at.astimezone(zone).date() == day


# What stands around a number or a date in a question.
_FORMS = (
    "my contract is valid until {date}",
    "log of {date}",
    "what was on {day} {month} {year}?",
    "in {month} {year}",
    "in summer {year}",
    "in the year {year}",
    "what happened {count} {unit}s ago",
    "in {count} {unit}s",
    "the last {count} {unit}s",
    "last {month}",
    "last winter",
    "yesterday",
    "this {unit}",
    "last {unit}",
    "the party in {month} last year",
    "vor {count} Jahren",
    "vor {count} Wochen",
    "letzten Winter",
    "vorgestern",
    "il y a {count} mois",
    "hace {count} años",
    "{count} лет назад",
    "{count}年前",
    "the {count} {unit}s before the wedding",
)


@given(
    instants,
    zones,
    st.sampled_from(_FORMS),
    st.dates(),
    st.integers(0, 10**9) | st.sampled_from([0, 1, 99, 999, 5_000]),
    st.integers(0, 9999),
    st.sampled_from(["day", "week", "weekend", "month", "year"]),
)
def test_no_date_in_a_question_raises(
    now: datetime, zone: ZoneInfo, form: str, day: date, count: int, year: int, unit: str
) -> None:
    question = form.format(date=day, day=day.day, month=f"{day:%B}", year=f"{year:04}", count=count, unit=unit)
    here = clamped(now).astimezone(zone)
    for span in spans_in(question, here):
        assert span.begin < span.end
        assert from_micros(span.end) >= EARLIEST
    timed(question, here)
    anchor = anchor_in(question)
    if anchor is not None:
        assert from_micros(anchor.span(to_micros(here)).end) >= EARLIEST


def test_instants_are_parsed_in_one_place() -> None:
    # Another place that converts a text or a number to an instant can give one that some time zone cannot show.
    source = Path(everloom.__file__).parent
    reads = re.compile(r"\bdatetime\.fromisoformat\(|fromtimestamp\(")
    found = {path.name for path in source.rglob("*.py") if reads.search(path.read_text(encoding="utf-8"))}
    # A time of day, and two times that are this machine's own.
    assert found == {"clock.py", "timing.py", "logs.py", "hook.py"}
