"""What a group of settings is, and the groups of servers and of the services on which people write.

Checks values and what they mean together. Refuses to know where a value comes from; `settings` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# A bridge with one of these names would receive replies that are meant for somebody else.
_TAKEN = frozenset({"discord", "email", "http", "matrix", "mcp", "slack", "telegram", "terminal", "webhook"})
_WEB = re.compile(r"https?://[^\s/]+\S*")


def parted(value: object) -> object:
    """Split one text at its commas: environment variables and flags cannot hold a list."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Parted = Annotated[tuple[str, ...], BeforeValidator(parted)]


class Section(BaseModel):
    """A group of settings; an unknown name in it is an error, so that a typing mistake does not pass silently."""

    # Frozen, because one object is shared by all threads of a process and by every workspace.
    model_config = ConfigDict(extra="forbid", frozen=True)


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check addresses and networks; one with bits beyond its length means the network that it lies in."""
    try:
        return tuple(str(ip_network(each, strict=False)) for each in value)
    except ValueError as error:
        raise ValueError(f"{error}; give addresses or networks, such as 10.0.0.7, 10.0.0.0/8 or ::1") from None


Networks = Annotated[tuple[str, ...], BeforeValidator(parted), AfterValidator(_networks)]


class ServerSettings(Section):
    """How a server treats whoever calls it, and how it ends."""

    proxies: Networks = Field(
        default=(),
        description="addresses and networks of the proxies in front of it; only what these say about a caller "
        "(X-Forwarded-For, -Proto and -Host) is believed",
    )
    connections: int = Field(default=480, ge=8, le=100_000, description="how many connections are open at most")
    connections_each: int = Field(
        default=128, ge=1, le=100_000, description="how many of them one address may hold; a proxy may hold all"
    )
    calls_at_once: int = Field(
        default=40, ge=1, le=1_000, description="how many calls are carried out at the same time; others wait"
    )
    calls_per_second: float = Field(
        default=100.0, gt=0, description="how many requests a second one token, or one address without, may send"
    )
    calls_saved: float = Field(
        default=1_000.0, ge=1, description="how many requests somebody who was quiet may send at once"
    )
    body_seconds: float = Field(default=30.0, gt=0, le=3_600, description="how long a request may take to arrive")
    request_seconds: float = Field(
        default=120.0, ge=110, le=86_400, description="how long a request may take to be answered"
    )
    stop_seconds: float = Field(
        default=25.0,
        ge=0,
        le=3_600,
        description="how long a server, worker or gateway that is told to stop may take to finish what it has begun",
    )
    drain_seconds: float = Field(
        default=0.0,
        ge=0,
        le=600,
        description="how long a server that is told to stop still takes requests, while /ready says that it stops",
    )


class MetricsSettings(Section):
    """Who may read the figures of a process at /metrics, in the format of Prometheus."""

    allow: Networks = Field(
        default=(),
        description="addresses and networks that may read /metrics; if empty, it is not there",
    )
    worker_port: int | None = Field(
        default=None, ge=0, le=65_535, description="port on which a worker offers /metrics and /health; if empty, none"
    )
    worker_host: str = Field(default="127.0.0.1", description="address on which a worker offers them")


class LogSettings(Section):
    """How servers, workers and gateways write their log, which goes to stderr."""

    format: Literal["text", "json"] = Field(default="text", description="text for people, or json: an object a line")
    level: Literal["debug", "info", "warning", "error"] | None = Field(
        default=None,
        description="the least severe that is written; info has a line for each request. If empty, warning, and what a "
        "worker does",
    )


@dataclass(frozen=True, slots=True)
class BridgeRule:
    """One named bridge: where its replies are posted, and from which addresses it may bring messages.

    Without a callback its replies are fetched; without addresses it may bring messages from any. They stay in the order
    in which they were set: the first one is the owner's.
    """

    name: str
    callback: str | None = None
    addresses: tuple[str, ...] = ()

    def admits(self, address: str) -> bool:
        """Say whether a message from an address is taken."""
        return not self.addresses or address in self.addresses


def _bridges(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check bridges: NAME, or NAME=URL."""
    names = [each.partition("=")[0] for each in value]
    for each, name in zip(value, names, strict=True):
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"a bridge's name is made of small letters, digits, - and _, such as sms; not {name!r}")
        if name in _TAKEN:
            raise ValueError(f"{name} is a channel of its own; choose another name for the bridge")
        if "=" in each and _WEB.fullmatch(each.partition("=")[2]) is None:
            raise ValueError(f"the callback of {name} is not an http or https address; write {name}=https://host/path")
    if len(set(names)) < len(names):
        raise ValueError("a bridge is named twice")
    return value


def _pairs(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check addresses of bridges: NAME=ADDRESS."""
    for each in value:
        name, sign, address = each.partition("=")
        if not (_NAME.fullmatch(name) and sign and address):
            raise ValueError("write NAME=ADDRESS, such as sms=+4917012345")
    return value


class BridgeSettings(Section):
    """The programs that bring messages of other services over HTTP."""

    bridges: Annotated[Parted, AfterValidator(_bridges)] = Field(
        default=(),
        description="programs that bring messages of other services over HTTP: NAME, or NAME=URL to which its replies "
        "are posted",
    )
    bridge_addresses: Annotated[Parted, AfterValidator(_pairs)] = Field(
        default=(),
        description="the only addresses from which a bridge may bring messages: NAME=ADDRESS; a bridge that is not "
        "named may bring them from any",
    )

    def bridge_rules(self) -> Mapping[str, BridgeRule]:
        """Read the bridges, by name."""
        known = [each.partition("=")[::2] for each in self.bridge_addresses]
        return {
            name: BridgeRule(name, url or None, tuple(address for owner, address in known if owner == name))
            for name, _, url in (each.partition("=") for each in self.bridges)
        }


class MatrixSettings(Section):
    """Who may talk over Matrix; the token is in MATRIX_ACCESS_TOKEN."""

    base: str = Field(default="https://matrix.org", description="address of the homeserver")
    people: Parted = Field(
        default=(), description="ids of the people who may invite and write alone: @name:server; all others are ignored"
    )
    rooms: Parted = Field(
        default=(), description="ids of rooms in which everybody is answered: !room:server, not the alias"
    )


class SlackSettings(Section):
    """Who may talk over Slack; the tokens are in SLACK_APP_TOKEN and SLACK_BOT_TOKEN."""

    base: str = Field(default="https://slack.com/api", description="address of Slack's API")
    people: Parted = Field(
        default=(), description="ids of the people whose direct messages are answered: U…; all others are ignored"
    )
    rooms: Parted = Field(default=(), description="ids of the channels in which everybody is answered: C… or G…")


class DiscordSettings(Section):
    """Who may talk over Discord; the token is in DISCORD_BOT_TOKEN."""

    base: str = Field(default="https://discord.com/api/v10", description="address of Discord's API")
    people: Parted = Field(
        default=(), description="ids of the people whose direct messages are answered; all others are ignored"
    )
    rooms: Parted = Field(default=(), description="ids of the channels in which everybody is answered")


class EmailSettings(Section):
    """The mailbox of the agent, and who may write to it; the password is in EVERLOOM_EMAIL_PASSWORD."""

    address: str | None = Field(default=None, description="e-mail address of the agent; if empty, there is no e-mail")
    user: str | None = Field(default=None, description="name to log in with; email.address if empty")
    imap: str | None = Field(
        default=None, description="imaps://host, or imap://host for STARTTLS; where its mail arrives"
    )
    smtp: str | None = Field(
        default=None, description="smtps://host, or smtp://host for STARTTLS; where its mail is sent"
    )
    folder: str = Field(default="INBOX", description="folder that is read")
    people: Parted = Field(default=(), description="addresses of the people who are answered; all others are ignored")
    proof: Literal["server", "tag", "none"] = Field(
        default="server",
        description="what proves a sender, because From can be forged: the result that your own mail server wrote into "
        "the message (server), a secret in subject or address (tag), or nothing (none)",
    )
    server: str | None = Field(
        default=None,
        description="the name by which your mail server signs Authentication-Results, such as mx.example.org",
    )
    every_seconds: float = Field(default=20.0, ge=0.1, le=3600, description="how often to look for new mail")
