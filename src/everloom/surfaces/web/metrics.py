"""The figures of a process as Prometheus reads them: families of samples, written as text.

Owns the format, and what every process can tell about itself and its store. No label holds a word that anybody has
stored, nor the name of a workspace. Refuses to know who reads them.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from everloom import __version__

if TYPE_CHECKING:
    from everloom.loom import Loom

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BEGAN = time.time()


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One number, with what tells it from the others of its family."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one meaning."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    samples: Sequence[MetricSample]


def sample(value: float, labels: Mapping[str, str] | None = None, suffix: str = "") -> MetricSample:
    """Make a sample."""
    return MetricSample(value, tuple((labels or {}).items()), suffix)


@dataclass(slots=True)
class HistogramData:
    """How many values lie below each bound, and their sum."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing in any bucket; the last one has no bound."""
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def add(self, place: int, value: float) -> None:
        """Count a value in the bucket at a place."""
        self.counts[place] += 1
        self.total += value

    def copy(self) -> HistogramData:
        """Return the data as they are now."""
        return HistogramData(self.bounds, [*self.counts], self.total)

    def samples(self, labels: Mapping[str, str]) -> Iterator[MetricSample]:
        """List the buckets, each with all that is below its bound, the sum and the count."""
        below = 0
        for bound, count in zip((*(f"{each:g}" for each in self.bounds), "+Inf"), self.counts, strict=True):
            below += count
            yield sample(below, {**labels, "le": bound}, "_bucket")
        yield sample(self.total, labels, "_sum")
        yield sample(below, labels, "_count")


def exposition(families: Iterable[Family]) -> str:
    """Write families as text."""
    lines: list[str] = []
    for family in families:
        lines += [f"# HELP {family.name} {_escaped(family.meaning)}", f"# TYPE {family.name} {family.kind}"]
        lines += [_line(family.name, each) for each in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _line(name: str, each: MetricSample) -> str:
    told = ",".join(f'{key}="{_escaped(value, quoted=True)}"' for key, value in each.labels)
    return f"{name}{each.suffix}{{{told}}} {each.value!r}" if told else f"{name}{each.suffix} {each.value!r}"


def _escaped(text: str, *, quoted: bool = False) -> str:
    plain = text.replace("\\", "\\\\").replace("\n", "\\n")
    return plain.replace('"', '\\"') if quoted else plain


def process_families(loom: Loom | None) -> Iterator[Family]:
    """Tell about this process: which version it is, since when it runs, what it has used."""
    engine = "" if loom is None else loom.store.engine
    told = {"version": __version__, "engine": engine, "python": platform.python_version()}
    yield Family("everloom_info", "gauge", "Version and engine of this process.", (sample(1, told),))
    yield Family("process_start_time_seconds", "gauge", "When this process began.", (sample(_BEGAN),))
    used = (sample(time.process_time()),)
    yield Family("process_cpu_seconds_total", "counter", "Processor time that this process has used.", used)
    if (size := _memory()) is not None:
        yield Family("process_resident_memory_bytes", "gauge", "Memory that this process holds.", (sample(size),))


def _memory() -> int | None:
    """Return how much memory this process holds, where the system tells."""
    if not sys.platform.startswith("linux"):
        return None
    import resource  # noqa: PLC0415  only where it exists

    try:
        with open("/proc/self/statm", encoding="ascii") as told:
            return int(told.read().split()[1]) * resource.getpagesize()
    except OSError:
        return None


def loom_families(loom: Loom) -> Iterator[Family]:
    """Tell about a store as this process uses it, about footprints, background work and language models."""
    yield from _store_families(loom)
    left = loom.footprints.counts
    fates = (sample(left.written, {"fate": "written"}), sample(left.lost, {"fate": "lost"}))
    yield Family("everloom_footprints_total", "counter", "What reading left behind, by what became of it.", fates)
    waiting = (sample(left.waiting),)
    yield Family("everloom_footprints_waiting", "gauge", "What reading left behind and is not stored yet.", waiting)
    ran = tuple(sample(count, {"task": task, "state": state}) for (task, state), count in sorted(loom.work.ran.items()))
    yield Family("everloom_tasks_total", "counter", "Runs of background tasks, by how they ended.", ran)
    spent = loom.spent
    yield Family("everloom_model_calls_total", "counter", "Requests to language models.", (sample(spent.questions),))
    tokens = (sample(spent.input_tokens, {"direction": "input"}), sample(spent.output_tokens, {"direction": "output"}))
    yield Family("everloom_model_tokens_total", "counter", "Tokens of language models.", tokens)
    dollars = (sample(float(spent.dollars or 0.0)),)
    yield Family("everloom_model_dollars_total", "counter", "What language models cost, as far as known.", dollars)


def _store_families(loom: Loom) -> Iterator[Family]:
    load = loom.store.load
    held = (
        sample(load.in_use, {"state": "in use"}),
        sample(load.idle, {"state": "idle"}),
        sample(load.most, {"state": "most"}),
    )
    yield Family("everloom_store_connections", "gauge", "Connections to the store: in use, idle, at most.", held)
    waits = (sample(load.waits),)
    yield Family("everloom_store_connection_waits_total", "counter", "Units that waited for a connection.", waits)
    seconds = (sample(load.waited_seconds),)
    yield Family("everloom_store_connection_wait_seconds_total", "counter", "How long they waited for one.", seconds)
    begun = (sample(load.writes),)
    yield Family("everloom_store_writes_total", "counter", "Units that began to write.", begun)
    queued = (sample(load.write_seconds),)
    meaning = "How long units waited to begin to write: for a connection and for other writers."
    yield Family("everloom_store_write_wait_seconds_total", "counter", meaning, queued)
