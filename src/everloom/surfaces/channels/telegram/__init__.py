"""Telegram: a thin client of its bot API, and a channel that accepts only known chats.

Owns what Telegram asks for: long polling, files, formatting, the length of messages. Refuses to know the conversation
beyond the inbox.
"""

from everloom.surfaces.channels.telegram.bot import Bot, TelegramBusy
from everloom.surfaces.channels.telegram.channel import Telegram, pause_after, telegram_channel

__all__ = ["Bot", "Telegram", "TelegramBusy", "pause_after", "telegram_channel"]
