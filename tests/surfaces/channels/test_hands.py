"""Approving on the channels: the question arrives where the person wrote, and their answer there decides."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from everloom.errors import NotFound
from everloom.loom import Workspace, open_loom
from everloom.surfaces.channels.delivery import Outbox
from everloom.surfaces.channels.gateway import Gateway, GatewayPlan
from everloom.surfaces.channels.inbox import Inbox
from everloom.surfaces.channels.telegram import Bot, Telegram
from everloom.surfaces.channels.terminal import Terminal
from everloom.surfaces.cli.commands.terminal.display import Display
from everloom.surfaces.cli.commands.terminal.look import look_around
from everloom.surfaces.cli.commands.terminal.slash import SlashCommands
from tests.mind.hands.waiting import wait_for_approval
from tests.patience import wait_until
from tests.surfaces.channels.conftest import settings_for
from tests.surfaces.channels.telegram_stub import TOKEN, TelegramStub

FRIEND, OTHER = 7, 8


def states(place: Workspace) -> dict[int, str]:
    """Say what became of each action."""
    return {each.id: each.state for each in place.mind.list_actions(max_tokens=100_000).actions}


@pytest.mark.promise("mind.hands-ask")
def test_a_question_is_asked_and_answered_in_the_chat_where_the_person_wrote(
    place: Workspace, stub: TelegramStub
) -> None:
    conversation = place.mind.conversation
    channel = Telegram(Bot(TOKEN, stub.url), Inbox(conversation), [FRIEND, OTHER], stop=Event())
    outbox = Outbox(conversation, "telegram", channel.send, place.loom.clock)
    stub.say(FRIEND, "Sail, please.")
    channel.fetch(1)
    one, two = wait_for_approval(place.mind)
    outbox.clear()
    chat, question = stub.sent[0]
    assert (chat, question.splitlines()[0]) == (str(FRIEND), f"Action {one}: the agent wants to use boat__sail")
    stub.say(OTHER, f"/approve {one}")
    stub.say(FRIEND, f"/refuse {two}")
    channel.fetch(1)
    assert states(place) == {one: "waiting", two: "refused"}
    stub.say(FRIEND, f"/approve {one}")
    channel.fetch(1)
    outbox.clear()
    assert states(place)[one] == "approved"
    assert stub.sent[-1] == (str(FRIEND), f"({one} is approved: boat__sail)")
    # An answer is no question: only what was said, and what came of the refusal, is for a turn.
    assert [each.kind for each in conversation.waiting()] == ["message", "event"]


@pytest.mark.promise("mind.hands-ask")
def test_a_person_who_has_a_name_is_asked_by_telegram_and_nobody_else_answers_for_them(
    store_url: str, tmp_path: Path, stub: TelegramStub
) -> None:
    given = {"base": stub.url, "chats": "7"}
    people = {"known": ("James workspace=default telegram=7", '"The club" group telegram=-9')}
    settings = settings_for(tmp_path, telegram=given, people=people, secrets={"telegram_bot_token": TOKEN})
    with open_loom(store_url, settings=settings) as loom:
        gate = Gateway(loom, loom.workspace(), GatewayPlan(with_tasks=False), Event())
        try:
            gate.start()
            stub.say(7, "Sail, please.")
            stub.say(-9, "Sail, please.", **{"from": {"id": 7, "first_name": "x"}})
            wait_until(lambda: len(stub.sent) == 2, "both answers")
            place, club = loom.workspace(), loom.workspace("The club")
            one, _ = wait_for_approval(place.mind)
            theirs, _ = wait_for_approval(club.mind)
            wait_until(lambda: sum(text.startswith("Action") for _, text in stub.sent) == 2, "both questions")
            assert {chat for chat, text in stub.sent if text.startswith("Action")} == {"7"}
            for number in (one, theirs):
                stub.say(-9, f"/approve {number}", **{"from": {"id": 7, "first_name": "James"}})
            wait_until(lambda: sum(chat == "-9" for chat, _ in stub.sent) >= 2, "an answer to the group")
            assert {*states(place).values(), *states(club).values()} == {"waiting"}
            stub.say(7, f"/approve {one}")
            wait_until(lambda: states(place)[one] == "approved", "the word of the person")
        finally:
            stub.stopped.set()
            gate.close()


def test_the_terminal_lists_approves_and_refuses(here: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    mind = here.mind
    terminal = Terminal(mind.conversation, lambda _: None)
    terminal.hear(terminal.tell("Sail, please."))
    one, two = wait_for_approval(mind)
    commands = SlashCommands(here, mind, Display(look_around(no_color=True)), None)
    for typed in ("/actions", "/approve", f"/approve {one} always", f"/refuse {two}", "/refuse x"):
        assert commands.is_one(typed)
        commands.obey(typed)
    with pytest.raises(NotFound, match="there is no action 1"):
        commands.obey("/approve 1")
    text = capsys.readouterr().out
    assert f"Action {one}: the agent wants to use boat__sail" in text
    assert "write /approve ID" in text
    assert "write /refuse ID" in text
    assert f"({one} is approved: boat__sail)" in text
    assert states(here) == {one: "approved", two: "refused"}
    assert any(each.text.startswith(f"Action {one}:") for each in terminal.arrived()), "it also arrived as a notice"


def test_a_decision_that_is_said_at_the_terminal_is_answered_at_once(here: Workspace) -> None:
    terminal = Terminal(here.mind.conversation, lambda _: None)
    terminal.hear(terminal.tell("Sail, please."))
    one, _ = wait_for_approval(here.mind)
    heard = terminal.hear(terminal.tell(f"/approve {one}"))
    assert heard.reply is not None
    assert heard.reply.text == f"({one} is approved: boat__sail)"
    assert heard.exchange is None
