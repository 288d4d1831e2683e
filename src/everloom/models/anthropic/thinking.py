"""How Claude is asked to think: adaptively or not, and with how much effort, as far as a model takes it.

Pure. Thinking is asked for without its text: nobody is shown it, and its signature is enough to go on.
"""

from __future__ import annotations

from everloom.models.anthropic.betas import Ability
from everloom.models.catalog import BUILT_IN
from everloom.models.thinking import Json, ThinkingChoice, nearest_effort, roomy

_ADAPTIVE: Json = {"type": "adaptive", "display": "omitted"}
# Ways to switch it off, the plainest first. Some models take neither, and always think.
_OFF = ("disabled", "between_tools")


def thinking_steps(choice: ThinkingChoice, ability: Ability) -> list[Json]:
    """List what to ask for, from all that was chosen to less of it."""
    level = nearest_effort(choice.effort, ability.efforts)
    effort: Json = {"output_config": {"effort": level}} if level else {}
    ways: list[Json] = []
    if choice.thinking == "adaptive" and "adaptive" in ability.thinking:
        ways = [{"thinking": _ADAPTIVE}]
    elif choice.thinking == "off":
        ways = [{"thinking": {"type": kind}} for kind in _OFF if kind in ability.thinking]
    # Some levels are refused without thinking, so that thinking alone is tried before effort alone.
    steps = [*({**way, **effort} for way in ways), *ways, effort]
    return [step for place, step in enumerate(steps) if step not in steps[:place]]


def with_wish(params: Json, wish: Json) -> Json:
    """Add a wish to the parameters of a request, which may configure its output already."""
    merged = {**params, **wish}
    if "output_config" in params and "output_config" in wish:
        merged["output_config"] = {**params["output_config"], **wish["output_config"]}
    return merged


def reply_limit(model: str, tokens: int, choice: ThinkingChoice) -> int:
    """Leave room for thinking in a reply, also where a model thinks by itself; by its name alone."""
    facts = BUILT_IN.facts(f"anthropic:{model}")
    # Switching it off does not help with a model that always thinks.
    known = ThinkingChoice(None, choice.effort) if facts.thinks == "always" else choice
    return roomy(tokens, known, thinks=facts.thinks in ("always", "by itself"), most=facts.longest_reply)
