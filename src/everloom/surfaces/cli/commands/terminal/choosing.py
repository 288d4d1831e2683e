"""Which model answers in a sitting: the one that would, those that could, and another one for now or for good.

Only a model that is configured or known is taken, and the day's budget holds for each. Refuses to know what is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from everloom.errors import EverloomError, Rejected

if TYPE_CHECKING:
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Loom

# Writes a model into the settings; returns where, and why that may not count.
Keeping = Callable[[str], str]


class ModelChoice:
    """The models of a conversation that is held on this machine."""

    def __init__(self, loom: Loom, workspace: WorkspaceInfo, keep: Keeping) -> None:
        self._loom = loom
        self._workspace = workspace
        self._keep = keep
        self._known = loom.settings.llm

    @property
    def roles(self) -> dict[str, str]:
        """Return the configured models by their roles."""
        found = {"large": self._known.large or self._known.small, "small": self._known.small}
        return {role: model for role, model in found.items() if model}

    def others(self) -> list[str]:
        """List further models that could be asked: their prices are known, and so is the key of their provider."""
        from everloom.models.catalog import priced_models  # noqa: PLC0415  a sitting may never ask

        return [each for each in priced_models() if each not in self.roles.values() and self._can_be_asked(each)]

    def choose(self, name: str, *, keep: bool) -> str:
        """Let a model answer from now on; returns what came of it."""
        model = self._named(name)
        talker = self._loom.choose_talker(self._workspace, model)
        kept = self._keep(model) if keep else "--keep chooses it for good"
        if talker.role == "small" and model != self.roles.get("small"):
            return f"{model} answers once there is a budget again, and {talker.name} until then; {kept}"
        return f"{model} answers from now on; {kept}"

    def _named(self, name: str) -> str:
        """Find the model that a name means: a role, its whole name, or the part after the colon."""
        from everloom.models.providers import check_model  # noqa: PLC0415  as above
        from everloom.wiring.policies import access  # noqa: PLC0415

        listed = [*self.roles.values(), *self.others()]
        meant = self.roles.get(name) or next((each for each in listed if each.partition(":")[2] == name), name)
        if meant not in listed and (":" not in meant or access(self._loom.settings).catalog.price(meant) is None):
            known = ", ".join(dict.fromkeys(listed))
            hint = f"known here: {known}; `everloom config set llm.large MODEL` makes another one known"
            raise Rejected(f"{meant} is neither configured nor a model whose price is known", hint=hint)
        check_model(meant, access=access(self._loom.settings))
        return meant

    def _can_be_asked(self, model: str) -> bool:
        from everloom.models.providers import check_model  # noqa: PLC0415  as above
        from everloom.wiring.policies import access  # noqa: PLC0415

        try:
            check_model(model, access=access(self._loom.settings))
        except EverloomError:
            return False
        return True
