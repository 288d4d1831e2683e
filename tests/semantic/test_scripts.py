"""Every script, also those of which no language is known: each verb answers, and the newer of two rivals leads."""

from __future__ import annotations

from datetime import timedelta

import pytest

from everloom.clock import ManualClock
from everloom.loom import open_loom
from everloom.settings import Settings

# Somebody, what they had, what they have now, and a question; whether the question is understood without a model.
RIVALS = (
    ("李娜", "李娜的车是Toyota Yaris 2020。", "李娜的车是Volvo EX30。", "李娜的车是什么？", True),
    (
        "美咲",
        "美咲さんの車はToyota Yaris 2020です。",
        "美咲さんの車はVolvo EX30です。",
        "美咲さんの車は何ですか？",
        True,
    ),
    ("سعاد", "سيارة سعاد هي Toyota Yaris 2020.", "سيارة سعاد هي Volvo EX30.", "ما هي سيارة سعاد؟", True),
    ("मीरा", "मीरा की कार Toyota Yaris 2020 है।", "मीरा की कार Volvo EX30 है।", "मीरा की कार क्या है?", True),
    ("Мария", "Машина Марии — Toyota Yaris 2020.", "Машина Марии — Volvo EX30.", "Какая машина у Марии?", True),
    (
        "Jonas",
        "Das Auto von Jonas ist ein Yaris 2020.",
        "Das Auto von Jonas ist ein EX30.",
        "Was ist das Auto von Jonas?",
        True,
    ),
    (
        "Zoé",
        "La voiture de Zoé est une Yaris 2020.",
        "La voiture de Zoé est une EX30.",
        "Quelle est la voiture de Zoé ?",
        True,
    ),
    ("Inés", "El coche de Inés es un Yaris 2020.", "El coche de Inés es un EX30.", "¿Cuál es el coche de Inés?", True),
    ("수진", "수진의 차는 Toyota Yaris 2020입니다.", "수진의 차는 Volvo EX30입니다.", "수진의 차는 무엇입니까?", False),
    ("มาลี", "รถของมาลีคือ Toyota Yaris 2020", "รถของมาลีคือ Volvo EX30", "รถของมาลีคืออะไร", False),
    ("רות", "המכונית של רות היא Yaris 2020.", "המכונית של רות היא EX30.", "מה המכונית של רות?", False),
    (
        "Ελένη",
        "Το αμάξι της Ελένης είναι Yaris 2020.",
        "Το αμάξι της Ελένης είναι EX30.",
        "Ποιο είναι το αμάξι;",
        False,
    ),
    ("Ада", "Ада has 東京 Yaris и कार", "Ада has 東京 EX30 и कार", "Ада 東京 कार?", False),
    ("Emoji", "🚗🇯🇵2020", "🚗🇸🇪30", "🚗?", False),
    ("x", "½ Ⅷ 𝔁 \u0628\u0301", "½ Ⅸ 𝔁 ꙮ", "½?", False),
)


@pytest.mark.promise("trust.5-present-state")
def test_every_script_is_remembered_recalled_corrected_and_forgotten(store_url: str, clock: ManualClock) -> None:
    settings = Settings.model_validate({"llm": {"large": "scripted:echo"}})
    with open_loom(store_url, settings=settings, clock=clock) as loom:
        place = loom.workspace("scripts", session="monday")
        knowing = place.semantic
        for who, before, now, question, is_understood in RIVALS:
            first = knowing.remember([who], before)
            clock.advance(timedelta(days=1))
            second = knowing.remember([who], now)
            best = knowing.recall(question).best_answer  # type: ignore[union-attr]
            if is_understood:
                assert best is not None, question
                assert (best.id, [each.id for each in best.earlier]) == (second.id, [first.id]), question
            assert {first.id, second.id} & {each.id for each in knowing.search(question)} or not is_understood
            knowing.bring_to_mind([question, now])
            place.mind.conversation.receive(question, channel="terminal", is_whole=True)
            assert place.mind.conversation.step()
            right = place.correct(second.id, f"{now} {before}")
            assert place.forget([right.id, first.id]).confirm
        assert place.plan_consolidation()
