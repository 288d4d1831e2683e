"""Named bridges: programs that bring the messages of other services over HTTP, each under a name of its own.

Owns who may use which name and with which secret. Refuses to know HTTP; `http` takes messages in and posts replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from everloom.errors import Forbidden, Rejected
from everloom.sections import BridgeRule

if TYPE_CHECKING:
    from everloom.settings import Settings


@dataclass(frozen=True, slots=True)
class Bridges:
    """The bridges that the settings name; `own` are the secrets of those that have one of their own."""

    rules: Mapping[str, BridgeRule] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    shared: str | None = None

    def rule(self, name: str, usual: str) -> BridgeRule:
        """Return the rule for a channel of HTTP; Rejected if there is no such bridge."""
        if name == usual:
            return BridgeRule(usual)
        if (found := self.rules.get(name)) is None:
            known = ", ".join(sorted(self.rules)) or "none"
            hint = f"add it to gateway.bridges; known so far: {known}"
            raise Rejected(f"there is no bridge called {name[:64]!r}", hint=hint)
        return found

    def admit(self, name: str, usual: str, address: str) -> None:
        """Refuse a message that a bridge may not bring."""
        if not self.rule(name, usual).admits(address):
            hint = f"add {name}={address[:64]} to gateway.bridge_addresses"
            raise Forbidden(f"{name} may not bring messages from this address", hint=hint)

    def with_known(self, addresses: Callable[[str], Sequence[str]]) -> Bridges:
        """Let a bridge that is restricted to some addresses bring those of people who are known as well."""
        more = {
            name: replace(rule, addresses=tuple(dict.fromkeys((*rule.addresses, *addresses(name)))))
            for name, rule in self.rules.items()
            if rule.addresses
        }
        return replace(self, rules={**self.rules, **more})

    def secret(self, name: str) -> str | None:
        """Return the secret that signs what a bridge sends and gets; one of its own excludes the shared one."""
        return self.own.get(name, self.shared)


def bridges_in(settings: Settings) -> Bridges:
    """Read the bridges and their secrets; Rejected if a callback could not be signed."""
    rules, secrets = settings.gateway.bridge_rules(), settings.secrets
    shared = secrets.everloom_webhook_secret
    found = Bridges(rules, _own_secrets(settings), None if shared is None else shared.get_secret_value())
    for name in sorted({each.partition("=")[0] for each in settings.gateway.bridge_addresses} - set(rules)):
        hint = f"add {name} to gateway.bridges, or remove its addresses"
        raise Rejected(f"gateway.bridge_addresses names {name}, which is no bridge", hint=hint)
    for rule in rules.values():
        if rule.callback is not None and found.secret(rule.name) is None:
            hint = (
                f"set EVERLOOM_BRIDGE_SECRETS={rule.name}=SECRET, or EVERLOOM_WEBHOOK_SECRET; it signs what is posted"
            )
            raise Rejected(f"the bridge {rule.name} has a callback and no secret", hint=hint)
    return found


def _own_secrets(settings: Settings) -> dict[str, str]:
    given = settings.secrets.everloom_bridge_secrets
    found: dict[str, str] = {}
    for each in (given.get_secret_value() if given else "").split(","):
        name, sign, secret = each.strip().partition("=")
        if not name and not sign:
            continue
        # Neither the secret nor what may be one is repeated.
        if not sign or not secret:
            hint = "write NAME=SECRET, separated by commas"
            raise Rejected("EVERLOOM_BRIDGE_SECRETS cannot be read", hint=hint)
        if name not in settings.gateway.bridge_rules():
            raise Rejected("EVERLOOM_BRIDGE_SECRETS names no bridge of gateway.bridges", hint="compare the names")
        found[name] = secret
    return found
