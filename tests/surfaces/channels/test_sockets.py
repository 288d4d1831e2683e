"""What is Slack's and Discord's own: threads, markup, programs, heartbeats, sessions, and what their codes mean."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from everloom.errors import Forbidden
from everloom.loom import Workspace
from everloom.surfaces.channels.services.slack import readable
from tests.patience import wait_until
from tests.surfaces.channels.stubs import discord, slack
from tests.surfaces.channels.stubs.discord import DiscordStub
from tests.surfaces.channels.stubs.slack import SlackStub
from tests.surfaces.channels.test_services import confirmed, heard, life, make, running


@pytest.fixture
def team() -> Iterator[SlackStub]:
    """A workspace of Slack."""
    with SlackStub() as stub:
        yield stub
    assert stub.complaints == []


@pytest.fixture
def guild() -> Iterator[DiscordStub]:
    """A server of Discord."""
    with DiscordStub() as stub:
        yield stub
    assert stub.complaints == []


@pytest.mark.promise("mind.services")
def test_slack_keeps_threads_names_files_and_leaves_programs_alone(here: Workspace, team: SlackStub) -> None:
    with life(here, team) as (channel, _):
        team.message(slack.HALL, slack.BO, "one", bot_id="B1")
        team.message(slack.HALL, slack.BO, "two", subtype="message_changed")
        team.message(slack.HALL, slack.BOT, "three")
        team.message("C0OTHER", slack.ADA, "four")
        team.message(slack.HALL, slack.BO, "five", thread_ts="1001.000100")
        team.message(slack.HALL, slack.BO, "", subtype="file_share", files=[{"mimetype": "image/png"}, {}])
        team.message(slack.HALL, slack.BO, f"<@{slack.BOT}> a &lt; b")
        confirmed(team, f"<@{slack.BOT}> a &lt; b")
        here.mind.conversation.speak("**yes**", cause="schedule", channel="slack", address=f"{slack.HALL}/1001.000100")
        channel.send(here.mind.conversation.log()[0])
        # Slack moves its connections now and then: the next one begins at once, and nothing is missed between them.
        for each in list(team.open):
            each.send(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))
        wait_until(lambda: not team.open, "the end of the connection")
        for number in range(205):
            team.message(slack.HALL, slack.BO, f"missed {number}")
        wait_until(lambda: heard(here)[-1].text == "missed 204", "the last message")
    found = heard(here)
    photo, file = (f"({what} was sent; this channel cannot receive it yet)" for what in ("a photo", "a file"))
    assert [each.text for each in found[:3]] == ["five", f"{photo}\n\n{file}", "a < b"]
    assert [each.address for each in found[:2]] == [f"{slack.HALL}/1001.000100", slack.HALL]
    assert [each.text for each in found[3:]] == [f"missed {number}" for number in range(205)]
    assert team.sent == [(f"{slack.HALL}/1001.000100", "**yes**")]
    assert readable("<https://a.example|A> <https://b.example> <#C1|hall> <!here> <@U2|ada> &amp;", "U1") == (
        "A (https://a.example) https://b.example #hall @here @ada &"
    )
    with (
        pytest.raises(Forbidden, match="SLACK_APP_TOKEN is not set"),
        running(here, team, secrets={"slack_app_token": None}),
    ):
        pass


@pytest.mark.promise("mind.services")
def test_discord_resumes_its_session_and_notices_a_silent_one(
    here: Workspace, guild: DiscordStub, caplog: pytest.LogCaptureFixture
) -> None:
    with life(here, guild):
        guild.message(discord.HALL, "77", "one", guild_id="9", webhook_id="5")
        guild.message(discord.HALL, discord.BO, "two", guild_id="9", type=7)
        guild.message(discord.HALL, discord.BOT, "three", guild_id="9")
        guild.message("999", discord.ADA, "four", guild_id="9")
        more = {"referenced_message": {"content": "Sail?"}, "attachments": [{"content_type": "audio/ogg"}]}
        guild.message(discord.HALL, discord.BO, "five", guild_id="9", type=19, **more)
        confirmed(guild, "five")
        guild.cut()
        guild.message(discord.HALL, discord.BO, "six", guild_id="9")
        confirmed(guild, "six")
        assert (guild.identified, guild.resumed) == (1, 1)
        # A server that answers no heartbeat is left, and the session goes on elsewhere.
        guild.is_mute = True
        wait_until(lambda: guild.resumed > 1, "another connection")
        guild.is_mute = False
        # A session that Discord has forgotten is begun anew, and what was said meanwhile is read.
        guild.sessions.clear()
        guild.cut()
        guild.message(discord.HALL, discord.BO, "seven", guild_id="9")
        wait_until(lambda: heard(here)[-1].text == "seven", "what was said without a session")
        assert guild.identified == 2
    assert [(each.text, each.quote) for each in heard(here)] == [
        ("five\n\n(a voice message was sent; this channel cannot receive it yet)", "Sail?"),
        ("six", ""),
        ("seven", ""),
    ]
    assert discord.TOKEN not in caplog.text


def test_a_missing_intent_is_named(
    here: Workspace,
    guild: DiscordStub,
    caplog: pytest.LogCaptureFixture,
    beside: Callable[[Callable[[], object]], Event],
) -> None:
    caplog.set_level(logging.WARNING)
    guild.intents = 0
    stop = Event()
    channel, _, _ = make(here, guild, stop)
    ended = beside(channel.parts()["discord"])
    wait_until(lambda: "Message Content Intent" in caplog.text, "the hint")
    stop.set()
    assert ended.wait(60)
    channel.close()
