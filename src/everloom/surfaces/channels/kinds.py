"""The channels that a gateway can run besides HTTP; a new one is a new line here."""

from __future__ import annotations

from everloom.surfaces.channels.contract import ChannelMaker
from everloom.surfaces.channels.services.discord import discord_channel
from everloom.surfaces.channels.services.mail import email_channel
from everloom.surfaces.channels.services.matrix import matrix_channel
from everloom.surfaces.channels.services.slack import slack_channel
from everloom.surfaces.channels.telegram import telegram_channel

CHANNELS: tuple[ChannelMaker, ...] = (telegram_channel, slack_channel, discord_channel, matrix_channel, email_channel)
