"""The thresholds and the noise of an embedder: which are in use, and how to find them from real text.

Both thresholds answer a yes-or-no question, so each is set where it separates right from wrong best: where the share of
right ones that pass, minus the share of wrong ones that pass, is largest (Youden's J).
Recall asks "does this memory contain anything about the cue?": it compares the best similarity of a cue in the memory
that it is about with its best similarity in a memory from another source. A cluster asks "does this text belong to the
nearest group?": it compares texts whose nearest group is their own with texts whose nearest group is another source's.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources

import numpy as np

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.noise import ScriptNoise, halves, measure_noise
from everloom.episodic.scenes.geometry import Floats, unit_rows
from everloom.errors import EverloomError, ProviderBusy, Rejected
from everloom.kernel.embedding import Embedding
from everloom.store import Unit

# The contract's numbers, for embedders that nobody has calibrated.
_SEED_RECALL, _SEED_CLUSTER = 0.35, 0.45
# Fewer texts say more about themselves than about the embedder; more only take time.
_LEAST = 40
_MOST = 5_000
# The size of a group that represents a cluster: between two, which are folded, and ten, which are split.
_GROUP = 6
# The size of the memory that a cue is compared with. The best similarity by chance grows with it: 0.31, 0.33 and 0.40
# are best for the static embedder with 25, 100 and 500 texts. A Being that patrols daily has some hundreds of living
# scenes, few of them on one topic.
_MEMORY = 100
_STEP = 0.01
# Below this, right and wrong cannot be separated, and no threshold is better than another.
_WORTH_KEEPING = 0.1
# The best of a hundred thresholds separates even numbers that were drawn by lot: by more than this, divided by the root
# of how many there are, in one of twenty cases (Kolmogorov and Smirnov).
_BY_LOT = 1.36
# Smaller differences are noise of the sample.
_ABOUT_AS_WELL = 0.02


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The cosines above which a scene is recalled or joins a cluster, and where they come from."""

    recall: float
    cluster: float
    source: str


def thresholds_of(being: Being, unit: Unit, model: str | None = None) -> Thresholds:
    """Find a model's thresholds; without a name, the preferred embedder's.

    A setting overrides what calibration found, which overrides what is shipped, which overrides the embedder's own
    traits. Each embedder has its own thresholds, because cosines of two models are not comparable.
    """
    name = model or being.op.embedding.preferred
    row = unit.one("episodic.calibration_get", model=name)
    if row is not None:
        known = Thresholds(row["recall"], row["cluster"], "calibrated")
    else:
        known = shipped_thresholds().get(name) or _own_thresholds(being.op.embedding, name)
    recall, cluster = being.policy.recall_threshold, being.policy.cluster_threshold
    if recall is None and cluster is None:
        return known
    return Thresholds(_or(recall, known.recall), _or(cluster, known.cluster), "settings")


def _own_thresholds(embedding: Embedding, name: str) -> Thresholds:
    link = next((each for each in embedding.chain.links if each.name == name), None)
    recall, cluster = (None, None) if link is None else (link.recall_threshold, link.cluster_threshold)
    return Thresholds(_or(recall, _SEED_RECALL), _or(cluster, _SEED_CLUSTER), "uncalibrated")


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


@cache
def shipped_thresholds() -> dict[str, Thresholds]:
    """Read the thresholds that come with the program."""
    known = tomllib.loads(_data("thresholds.toml"))
    return {name: Thresholds(each["recall"], each["cluster"], "shipped") for name, each in known.items()}


def _data(name: str) -> str:
    return (resources.files("everloom.episodic") / name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationText:
    """A text, the source it belongs to (a conversation, a day), and cues that it answers."""

    text: str
    source: str
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """A threshold, the shares of right and of wrong ones that pass it, and how many of each were compared."""

    threshold: float
    right: float
    wrong: float
    right_count: int
    wrong_count: int

    @property
    def worth(self) -> float:
        """How well it separates right from wrong: 1 is perfect, 0 is a coin toss."""
        return self.right - self.wrong

    @property
    def needed(self) -> float:
        """How well it must separate them, for so many comparisons, not to be an accident."""
        if not self.right_count or not self.wrong_count:
            return 1.0
        return max(_WORTH_KEEPING, min(1.0, _BY_LOT * math.sqrt(1 / self.right_count + 1 / self.wrong_count)))

    @property
    def separates(self) -> bool:
        """Whether it tells right from wrong."""
        return self.worth >= self.needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The result of `calibrate`: the thresholds before and after, and the measurements behind them."""

    model: str
    passages: int
    cues: int
    recall: Balance
    cluster: Balance
    before: Thresholds
    after: Thresholds
    noise: tuple[ScriptNoise, ...]
    kept: bool
    # What was measured of each threshold that is refused, and what stays in force.
    warnings: tuple[str, ...] = ()

    @property
    def refusal(self) -> EverloomError | None:
        """Why the earlier values stay, if both do."""
        if len(self.refused) < 2:
            return None
        hint = "calibrate on more of your own texts, or choose an embedder that tells them apart"
        return EverloomError(f"no {' or '.join(self.refused)} threshold tells right from wrong here", hint=hint)

    @property
    def refused(self) -> tuple[str, ...]:
        """The thresholds that do not tell right from wrong, so that the earlier values stay."""
        return tuple(name for name in ("recall", "cluster") if not getattr(self, name).separates)


def calibrate(being: Being, texts: Sequence[CalibrationText] | None, *, keep: bool) -> Calibrated:
    """Measure the preferred embedder on real text, and store the thresholds under its name."""
    known = list(texts if texts is not None else _read_memory(being))[:_MOST]
    if len(known) < _LEAST or len({each.source for each in known}) < 2:
        hint = f"give a file, or remember more first: it takes at least {_LEAST} texts from two sources"
        raise Rejected(f"{len(known)} texts are too few to calibrate on", hint=hint)
    embedding = being.op.embedding
    rows, sources = _embed_texts(embedding, [each.text for each in known]), [each.source for each in known]
    if texts is None:
        # A workspace is one source, so there is no other to compare with. Instead, the cues are about many everyday
        # things, most of which the workspace says nothing about.
        everyday = _data("everyday.txt").splitlines()
        cues, pairs = len(everyday), _compare_memory(rows, _embed_cues(embedding, everyday))
    else:
        answering = [(cue, number) for number, each in enumerate(known) for cue in each.cues]
        asked = _embed_cues(embedding, [cue for cue, _ in answering]) if answering else rows
        cues, pairs = len(answering), _compare_sources(asked, [number for _, number in answering], rows, sources)
    recall, cluster = balance(*pairs), balance(*_nearest_groups(rows, sources))
    with being.op.read() as unit:
        before = thresholds_of(being, unit)
    noise = _noise(embedding, known)
    after = Thresholds(
        recall.threshold if recall.separates else before.recall,
        cluster.threshold if cluster.separates else before.cluster,
        "calibrated",
    )
    found = Calibrated(
        model=embedding.preferred,
        passages=len(known),
        cues=cues,
        recall=recall,
        cluster=cluster,
        before=before,
        after=after,
        noise=noise,
        # A store in which nothing was found out stays as it is.
        kept=keep and (recall.separates or cluster.separates or any(each.refusal is None for each in noise)),
        warnings=tuple(_warnings(recall, cluster, before)),
    )
    if found.kept:
        _keep(being, found)
    return found


def _warnings(recall: Balance, cluster: Balance, before: Thresholds) -> Iterator[str]:
    """Say of each threshold that does not separate what was measured, and what stays in force."""
    for name, best, stays in (("recall", recall, before.recall), ("cluster", cluster, before.cluster)):
        if best.separates:
            continue
        measured = "there was nothing to compare"
        if best.right_count and best.wrong_count:
            passing = (
                f"{best.right:.1%} of {best.right_count:,} right and {best.wrong:.1%} of {best.wrong_count:,} wrong"
            )
            lacking = f"a difference of {best.worth:.2f} where {best.needed:.2f} is needed"
            measured = f"at best ({best.threshold:.2f}) {passing} answers pass, {lacking}"
        yield (
            f"no {name} threshold tells right from wrong on these texts: {measured}; "
            f"{stays:.2f} stays in force ({before.source})"
        )


def _noise(embedding: Embedding, known: Sequence[CalibrationText]) -> tuple[ScriptNoise, ...]:
    """Measure how near unrelated texts lie, for each script that occurs often enough."""
    # Where some texts have questions, the others have none that a person would ask.
    asked = [each for each in known if each.cues] or known
    texts = halves((each.text, each.source, each.cues) for each in asked)
    if not texts:
        return ()
    questions = _embed_cues(embedding, [text.question for text in texts])
    return tuple(measure_noise(texts, questions, _embed_texts(embedding, [text.rest for text in texts])))


def _keep(being: Being, found: Calibrated) -> None:
    """Store the thresholds under the model's name."""
    after = found.after
    chosen: dict[str, str | float] = {"model": found.model, "recall": after.recall, "cluster": after.cluster}
    with being.op.write("calibrate") as tx:
        tx.unit.send("episodic.calibration_put", **chosen, detail=json.dumps(asdict(found)), at=to_micros(tx.at))
        tx.event(**chosen)


def _read_memory(being: Being) -> list[CalibrationText]:
    """Read what the workspace remembers; neighbouring texts count as one source."""
    # Two groups for each source, so that a text whose nearest group is the neighbouring one does not count as wrong.
    with being.op.read() as unit:
        rows = unit.all("episodic.sample", limit=_MOST)
    texts = [row["text"] for row in reversed(rows)]
    return [CalibrationText(text=text, source=str(number // (2 * _GROUP))) for number, text in enumerate(texts)]


def _embed_texts(embedding: Embedding, texts: Sequence[str]) -> Floats:
    """Embed texts."""
    made = embedding.make(list(texts))
    if made is None:
        raise ProviderBusy(f"{embedding.preferred} cannot be asked now", hint="`everloom doctor` checks it")
    return made.rows["general"]


def _embed_cues(embedding: Embedding, cues: Sequence[str]) -> Floats:
    """Embed cues."""
    probes = [embedding.probe(cue) for cue in cues]
    rows = [probe.general for probe in probes if probe is not None and probe.model == embedding.preferred]
    if len(rows) < len(probes):
        raise ProviderBusy(f"{embedding.preferred} cannot be asked now", hint="`everloom doctor` checks it")
    return np.stack(rows)


def _compare_memory(rows: Floats, strange: Floats) -> tuple[Floats, Floats]:
    """Compare each text with its nearest neighbour, and each unrelated cue with the text nearest to it."""
    right = [np.delete(rows @ row, number).max() for number, row in enumerate(rows)]
    return np.array(right, np.float32), (strange @ rows.T).max(axis=1)


def _compare_sources(
    asked: Floats, answering: Sequence[int], rows: Floats, sources: Sequence[str]
) -> tuple[Floats, Floats]:
    """Compare each cue with the nearest text of the memory it is about, and of a memory from another source."""
    memories = _cut_up(sources, _MEMORY)
    home = {number: place for place, members in enumerate(memories) for number in members}
    names = [sources[members[0]] for members in memories]
    right, wrong = [], []
    for number, cue in zip(answering or range(len(rows)), asked, strict=True):
        # Without cues every text is its own cue, and would find itself.
        here = [each for each in memories[home[number]] if answering or each != number]
        strange = [place for place, name in enumerate(names) if name != sources[number]]
        if here:
            right.append((rows[here] @ cue).max())
        # One other memory and not all of them: the best of many would be compared with the best of one.
        wrong.append((rows[memories[strange[number % len(strange)]]] @ cue).max())
    return np.array(right, np.float32), np.array(wrong, np.float32)


def _nearest_groups(rows: Floats, sources: Sequence[str]) -> tuple[Floats, Floats]:
    """Compare each text with the nearest group of texts: its own group, or one from another source."""
    groups = [run for run in _cut_up(sources, _GROUP) if len(run) == _GROUP]
    sums = np.stack([rows[members].sum(axis=0) for members in groups])
    names = np.array([sources[members[0]] for members in groups])
    means = unit_rows(sums)
    right: list[float] = []
    wrong: list[float] = []
    for number, members in enumerate(groups):
        others = names != names[number]
        for place in members:
            near = means @ rows[place]
            # Its own group without the text itself, which would pull the mean towards it.
            own = float(unit_rows(sums[number] - rows[place]) @ rows[place])
            best = float(near[others].max(initial=-1.0))
            (right if own > best else wrong).append(max(own, best))
    return np.array(right, np.float32), np.array(wrong, np.float32)


def _cut_up(sources: Sequence[str], size: int) -> list[list[int]]:
    """Divide the texts of each source into runs of neighbours."""
    by_source: dict[str, list[int]] = {}
    for place, source in enumerate(sources):
        by_source.setdefault(source, []).append(place)
    return [places[start : start + size] for places in by_source.values() for start in range(0, len(places), size)]


def balance(right: Floats, wrong: Floats) -> Balance:
    """Find the threshold that separates right from wrong best; among those that do it about as well, the lowest.

    Recall returns three scenes at most, and a scene joins only the nearest cluster, so a miss costs more than a weak
    match.
    """
    if not len(right) or not len(wrong):
        return Balance(threshold=1.0, right=0.0, wrong=0.0, right_count=len(right), wrong_count=len(wrong))
    steps = np.arange(0.0, 1.0, _STEP)
    passing = [(float((right > step).mean()), float((wrong > step).mean()), float(step)) for step in steps]
    most = max(each[0] - each[1] for each in passing)
    best = next(each for each in passing if each[0] - each[1] >= most - _ABOUT_AS_WELL)
    return Balance(
        threshold=round(best[2], 2),
        right=round(best[0], 4),
        wrong=round(best[1], 4),
        right_count=len(right),
        wrong_count=len(wrong),
    )
