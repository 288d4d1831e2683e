"""How well embedders find facts and scenes in nine languages, within one language and across them.

Each of twelve items has a text and a question in every language; they share few words on purpose. Vectors alone rank
the twelve texts. Run: python -m benchmarks.crosslingual [EMBEDDER ...], names as in the setting `embed.models`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, pstdev
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everloom.clock import SystemClock
from everloom.models.embed import Embedder, EmbeddingTask
from everloom.models.noise import script_of
from everloom.models.providers import ProviderAccess, make_embedder

FILE = Path(__file__).with_suffix(".json")
DEFAULT = ("static:multilingual-384", "static:wordllama-256", "local:minilm-l6", "local:use-multilingual")

Rows = npt.NDArray[np.float32]
ByLanguage = dict[str, Rows]


class Noise(NamedTuple):
    """Cosines of questions with unrelated texts of their language, and with the text that answers them."""

    unrelated: list[float]
    right: list[float]


class Measured(NamedTuple):
    """The shares of questions whose first hit is right, and the noise by script."""

    same: dict[str, float]
    other: float
    one_pot: float
    noise: dict[str, Noise]


def measure(embedder: Embedder) -> Measured:
    """Embed every text and question, and rank the texts by cosine."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    languages, items = data["languages"], data["items"]
    texts, questions = (
        {code: embedder.embed([item[part][code] for item in items], task).rows for code in languages}
        for part, task in (("text", EmbeddingTask.DOCUMENT), ("question", EmbeddingTask.QUERY))
    )
    first = {(a, b): _first_hits(questions[a], texts[b]) for a in languages for b in languages}
    pot = np.concatenate([texts[code] for code in languages])
    return Measured(
        same={code: first[code, code] for code in languages},
        other=mean(share for (a, b), share in first.items() if a != b),
        one_pot=mean(_first_hits(questions[code], pot, len(items)) for code in languages),
        noise=_noise(texts, questions, lambda code: _script(code, items)),
    )


def _first_hits(questions: Rows, texts: Rows, items: int | None = None) -> float:
    """Return the share of questions whose nearest text is theirs, in whichever language it is."""
    best = (questions @ texts.T).argmax(axis=1) % (items or len(texts))
    return float((best == np.arange(len(questions))).mean())


def _script(code: str, items: list[dict[str, dict[str, str]]]) -> str:
    return script_of(items[0]["text"][code], is_english=code == "en")


def _noise(texts: ByLanguage, questions: ByLanguage, script: Callable[[str], str]) -> dict[str, Noise]:
    found: dict[str, Noise] = {}
    for code, rows in questions.items():
        cosines = rows @ texts[code].T
        noise = found.setdefault(script(code), Noise([], []))
        noise.unrelated.extend(cosines[~np.eye(len(rows), dtype=bool)].tolist())
        noise.right.extend(np.diag(cosines).tolist())
    return found


def lines(name: str, found: Measured) -> Iterator[str]:
    """Write two rows for the tables of docs/benchmarks.md."""
    shares = [*found.same.values(), mean(found.same.values()), found.other, found.one_pot]
    yield f"| {name} | " + " | ".join(f"{share:.2f}".removeprefix("0") for share in shares) + " |"
    cells = []
    for noise in found.noise.values():
        bound = float(np.quantile(noise.unrelated, 0.95))
        above = mean(cosine > bound for cosine in noise.right)
        cells.append(
            f"{mean(noise.unrelated):.2f} ± {pstdev(noise.unrelated):.2f}, {mean(noise.right):.2f}, {above:.0%}"
        )
    yield f"| {name} | " + " | ".join(cells) + " |"


def main(names: list[str]) -> None:
    """Print both tables."""
    found = {}
    for name in names:
        chain = make_embedder([name], access=ProviderAccess(), clock=SystemClock())
        found[name] = measure(chain.link(name))
    either = next(iter(found.values()))
    titles = [" | ".join([*either.same, "mean", "other language", "all in one"]), " | ".join(either.noise)]
    for table, title in enumerate(titles):
        rows = [f"| embedder | {title} |", "|---" * (title.count("|") + 2) + "|"]
        rows += [list(lines(name, each))[table] for name, each in found.items()]
        sys.stdout.write("\n".join(rows) + "\n\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(DEFAULT))
