"""Times in a question: what each phrase means, seen from one Wednesday in Berlin."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import from_micros, to_micros
from everloom.kernel.search.when import Span, anchor_in, credit, mentions_time, spans_in, timed

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 15, 30, tzinfo=BERLIN)  # a Wednesday

PHRASES = {
    "what did we do yesterday?": ("2026-11-17", "2026-11-18"),
    "the day before yesterday": ("2026-11-16", "2026-11-17"),
    "who called last night?": ("2026-11-17", "2026-11-18"),
    "what happened 3 days ago": ("2026-11-15", "2026-11-16"),
    "where was I two weeks ago?": ("2026-11-01", "2026-11-08"),
    "a month ago I was ill": ("2026-10-01", "2026-11-01"),
    "what did I plan two years ago": ("2024-01-01", "2025-01-01"),
    "what did I read last week": ("2026-11-09", "2026-11-16"),
    "what is due this week": ("2026-11-16", "2026-11-23"),
    "where were we last weekend": ("2026-11-13", "2026-11-16"),
    "last month's rent": ("2026-10-01", "2026-11-01"),
    "what did we decide last year": ("2025-01-01", "2026-01-01"),
    "what did she say last Friday?": ("2026-11-13", "2026-11-14"),
    "the trip last May": ("2026-05-01", "2026-06-01"),
    "the trip last December": ("2025-12-01", "2026-01-01"),
    "our garden this summer": ("2026-06-01", "2026-09-01"),
    "the flood last winter": ("2025-12-01", "2026-03-01"),
    "what was on 3 June 2024?": ("2024-06-03", "2024-06-04"),
    "what was on June 3rd, 2024?": ("2024-06-03", "2024-06-04"),
    "the 3rd of June 2024": ("2024-06-03", "2024-06-04"),
    "log of 2024-06-03": ("2024-06-03", "2024-06-04"),
    "what did Nate win in July 2022": ("2022-07-01", "2022-08-01"),
    "in Sept 2023": ("2023-09-01", "2023-10-01"),
    "which country in summer 2021": ("2021-06-01", "2021-09-01"),
    "how often in 2023": ("2023-01-01", "2024-01-01"),
    "what changed in the last 3 days": ("2026-11-15", None),
}

# The same Wednesday in other languages: from now, by a name, by a number, as a date.
PHRASES_ELSEWHERE = {
    "Was habe ich gestern gegessen?": ("2026-11-17", "2026-11-18"),
    "Wo war ich vorgestern?": ("2026-11-16", "2026-11-17"),
    "Was war letzten Mai?": ("2026-05-01", "2026-06-01"),
    "Was habe ich letzte Woche gelesen?": ("2026-11-09", "2026-11-16"),
    "Wo waren wir vor zwei Wochen?": ("2026-11-01", "2026-11-08"),
    "Was geschah in den letzten 3 Tagen?": ("2026-11-15", None),
    "Was war am 3. Juni 2024?": ("2024-06-03", "2024-06-04"),
    "Wohin fuhren wir im März 2023?": ("2023-03-01", "2023-04-01"),
    "Wo waren wir am letzten Wochenende?": ("2026-11-13", "2026-11-16"),
    "Was taten wir im Mai letzten Jahres?": ("2025-05-01", "2025-06-01"),
    "Was sagte sie letzten Freitag?": ("2026-11-13", "2026-11-14"),
    "Qu'est-ce que j'ai mangé hier ?": ("2026-11-17", "2026-11-18"),
    "Où étais-je avant-hier ?": ("2026-11-16", "2026-11-17"),
    "Qu'ai-je lu la semaine dernière ?": ("2026-11-09", "2026-11-16"),
    "Où étions-nous l’été dernier ?": ("2026-06-01", "2026-09-01"),
    "Qu'avons-nous décidé l'année dernière ?": ("2025-01-01", "2026-01-01"),
    "Où étais-je il y a deux semaines ?": ("2026-11-01", "2026-11-08"),
    "Qui est venu le 3 juin 2024 ?": ("2024-06-03", "2024-06-04"),
    "Où sommes-nous allés en août 2023 ?": ("2023-08-01", "2023-09-01"),
    "Qu'a-t-elle dit vendredi dernier ?": ("2026-11-13", "2026-11-14"),
    "¿Qué comí ayer?": ("2026-11-17", "2026-11-18"),
    "¿Dónde estuve anteayer?": ("2026-11-16", "2026-11-17"),
    "¿Qué leí el mes pasado?": ("2026-10-01", "2026-11-01"),
    "¿Qué decidimos el año pasado?": ("2025-01-01", "2026-01-01"),
    "¿Dónde estuve hace dos semanas?": ("2026-11-01", "2026-11-08"),
    "¿Qué pasó el 3 de junio de 2024?": ("2024-06-03", "2024-06-04"),
    "¿A dónde fuimos en marzo de 2023?": ("2023-03-01", "2023-04-01"),
    "¿Qué dijo el viernes pasado?": ("2026-11-13", "2026-11-14"),
    "¿Qué hicimos en mayo del año pasado?": ("2025-05-01", "2025-06-01"),
    "¿Qué hice esta semana?": ("2026-11-16", "2026-11-23"),
    "Что я ел вчера?": ("2026-11-17", "2026-11-18"),
    "Где я был позавчера?": ("2026-11-16", "2026-11-17"),
    "Куда мы ездили в прошлом мае?": ("2026-05-01", "2026-06-01"),
    "Что я читал на прошлой неделе?": ("2026-11-09", "2026-11-16"),
    "Что мы решили в прошлом году?": ("2025-01-01", "2026-01-01"),
    "Где я был две недели назад?": ("2026-11-01", "2026-11-08"),
    "Что было 3 июня 2024 года?": ("2024-06-03", "2024-06-04"),
    "Куда мы ездили в марте 2023?": ("2023-03-01", "2023-04-01"),
    "Что было неделю назад?": ("2026-11-08", "2026-11-15"),
    "昨日何を食べましたか": ("2026-11-17", "2026-11-18"),
    "一昨日はどこにいましたか": ("2026-11-16", "2026-11-17"),
    "先週何を読みましたか": ("2026-11-09", "2026-11-16"),
    "去年何を決めましたか": ("2025-01-01", "2026-01-01"),
    "二週間前どこにいましたか": ("2026-11-01", "2026-11-08"),
    "2024年6月3日に何がありましたか": ("2024-06-03", "2024-06-04"),
    "2023年11月にどこへ行きましたか": ("2023-11-01", "2023-12-01"),
    "先週の金曜日に何と言いましたか": ("2026-11-13", "2026-11-14"),
    "去年の夏はどこへ行きましたか": ("2025-06-01", "2025-09-01"),
    "3日前に何をした": ("2026-11-15", "2026-11-16"),
    "我昨天吃了什么": ("2026-11-17", "2026-11-18"),
    "前天我在哪里": ("2026-11-16", "2026-11-17"),
    "上周我读了什么": ("2026-11-09", "2026-11-16"),
    "上个月的房租": ("2026-10-01", "2026-11-01"),
    "去年我们决定了什么": ("2025-01-01", "2026-01-01"),
    "两周前我在哪里": ("2026-11-01", "2026-11-08"),
    "2024年6月3日发生了什么": ("2024-06-03", "2024-06-04"),
    "2023年3月我们去了哪里": ("2023-03-01", "2023-04-01"),
    "上周五她说了什么": ("2026-11-13", "2026-11-14"),
    "上周末我们在哪里": ("2026-11-13", "2026-11-16"),
    "三个月前": ("2026-08-01", "2026-09-01"),
    "ماذا أكلت أمس؟": ("2026-11-17", "2026-11-18"),
    "أين كنت أول أمس؟": ("2026-11-16", "2026-11-17"),
    "ماذا قرأت الأسبوع الماضي؟": ("2026-11-09", "2026-11-16"),
    "ماذا قررنا العام الماضي؟": ("2025-01-01", "2026-01-01"),
    "أين كنت قبل أسبوعين؟": ("2026-11-01", "2026-11-08"),
    "ماذا حدث في 3 يونيو 2024؟": ("2024-06-03", "2024-06-04"),
    "أين ذهبنا في مارس 2023؟": ("2023-03-01", "2023-04-01"),
    "ماذا قالت يوم الجمعة الماضي؟": ("2026-11-13", "2026-11-14"),
    "ماذا حدث قبل 3 أيام؟": ("2026-11-15", "2026-11-16"),
    "मैंने कल क्या खाया?": ("2026-11-17", "2026-11-18"),
    "परसों मैं कहाँ था?": ("2026-11-16", "2026-11-17"),
    "मैंने पिछले हफ़्ते क्या पढ़ा?": ("2026-11-09", "2026-11-16"),
    "पिछले साल हमने क्या तय किया?": ("2025-01-01", "2026-01-01"),
    "दो हफ्ते पहले मैं कहाँ था?": ("2026-11-01", "2026-11-08"),
    "3 जून 2024 को क्या हुआ?": ("2024-06-03", "2024-06-04"),
    "मार्च 2023 में हम कहाँ गए?": ("2023-03-01", "2023-04-01"),
    "पिछले शुक्रवार उसने क्या कहा?": ("2026-11-13", "2026-11-14"),
    "पिछले मई में": ("2026-05-01", "2026-06-01"),
}


def shown(micros: int) -> str:
    return from_micros(micros).astimezone(BERLIN).strftime("%Y-%m-%d")


@pytest.mark.parametrize("phrase", PHRASES | PHRASES_ELSEWHERE)
@pytest.mark.promise("search.time")
def test_a_phrase_means_its_time(phrase: str) -> None:
    begin, end = (PHRASES | PHRASES_ELSEWHERE)[phrase]
    (span,) = spans_in(phrase, NOW)
    assert mentions_time(phrase)
    assert shown(span.begin) == begin
    assert end is None or shown(span.end) == end


def test_a_month_without_a_year_means_each_of_the_last_years_and_none_to_come() -> None:
    spans = spans_in("when did she camp in June?", NOW)
    assert [shown(span.begin) for span in spans][:2] == ["2026-06-01", "2025-06-01"]
    assert all(span.begin <= to_micros(NOW) for span in spans)
    assert shown(spans_in("the party in December", NOW)[0].begin) == "2025-12-01"


@pytest.mark.parametrize(
    "phrase",
    [
        "who may help me?",
        "they march on",
        "what is in the box?",
        "room 2 of 10",
        "may I ask",
        "second hand",
        "Was ist das hier?",
        "Wer wohnt vor der Stadt?",
        "¿Qué pescado de mar me gusta?",
        "Где май и Анна?",
        "私は日本に住んでいます",
        "我喜欢月亮",
        "ما اسم اليومية؟",
        "मेरा कलम कहाँ है?",
    ],
)
def test_words_that_only_look_like_times_are_left_to_the_words(phrase: str) -> None:
    assert spans_in(phrase, NOW) == ()


def test_words_of_a_time_told_from_now_are_not_looked_for_and_those_of_a_date_are() -> None:
    assert "week" not in timed("what did I read last week", NOW)[1]
    assert "read" in timed("what did I read last week", NOW)[1]
    assert "June" in timed("what was on 3 June 2024?", NOW)[1]


def test_the_rest_of_a_question_keeps_its_capitals_and_accents() -> None:
    assert timed("¿Dónde vivía María el mes pasado?", NOW)[1].split() == ["¿Dónde", "vivía", "María", "?"]


def test_impossible_dates_mean_what_is_left_of_them() -> None:
    assert spans_in("log 2024-17-03", NOW) == ()
    (month,) = spans_in("what was on 31 February 2024?", NOW)
    assert (shown(month.begin), shown(month.end)) == ("2024-02-01", "2024-03-01"), "its month is still told"


def test_a_day_has_its_own_length_when_clocks_change() -> None:
    (span,) = spans_in("25 October 2026", NOW)
    assert from_micros(span.end) - from_micros(span.begin) == timedelta(hours=25)


def test_an_event_can_tell_the_time() -> None:
    anchor = anchor_in("what did we buy the week before the wedding?")
    assert anchor is not None
    assert (anchor.phrase, anchor.before, anchor.length) == ("the wedding", True, timedelta(days=7))
    wedding = to_micros(NOW)
    assert anchor.span(wedding) == Span(wedding - 7 * 86_400_000_000, wedding)
    after = anchor_in("how was I two days after my surgery")
    assert after is not None
    assert (after.phrase, after.before, after.length) == ("my surgery", False, timedelta(days=2))
    assert anchor_in("what did we eat?") is None


def test_what_is_told_soon_after_still_counts_and_what_was_before_does_not() -> None:
    (span,) = spans_in("3 June 2024", NOW)
    day = 86_400_000_000
    moments = np.array([span.begin, span.end - 1, span.end + day, span.end + 20 * day, span.begin - 1])
    inside, last, soon, late, before = credit((span,), moments)
    assert inside == last == 1.0
    assert 0.4 < soon < 0.6
    assert late < 0.01
    assert before == 0.0
    (earlier,) = spans_in("2 June 2024", NOW)
    assert credit((earlier, span), moments)[0] == 1.0, "the best of several times counts"


@given(st.text(max_size=200))
def test_no_question_is_too_strange(question: str) -> None:
    for span in spans_in(question, NOW):
        assert span.begin < span.end
    anchor_in(question)
