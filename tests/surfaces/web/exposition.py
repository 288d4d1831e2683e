"""Reads the text format of Prometheus as strictly as its specification says; what does not fit is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_KINDS = {"counter", "gauge", "histogram"}
Labels = frozenset[tuple[str, str]]


@dataclass(slots=True)
class ReadFamily:
    """One family, as it was read."""

    kind: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)


def read(text: str) -> dict[str, ReadFamily]:
    """Read an exposition."""
    assert text.endswith("\n")
    families: dict[str, ReadFamily] = {}
    name = ""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert re.fullmatch(_NAME, name)
            assert name not in families, f"{name} is there twice"
            _, _, typed, kind = next(lines).split(" ")
            assert (typed, kind in _KINDS) == (name, True)
            families[name] = ReadFamily(kind)
            continue
        found = _SAMPLE.fullmatch(line)
        assert found, line
        family = families[name]
        allowed = {f"{name}_bucket", f"{name}_sum", f"{name}_count"} if family.kind == "histogram" else {name}
        assert found[1] in allowed, line
        key = (found[1], _labels(found[2] or ""))
        assert key not in family.samples, f"{line} is there twice"
        family.samples[key] = float(found[3])
    for name, family in families.items():
        _check(name, family)
    return families


def _labels(text: str) -> Labels:
    labels, at = [], 0
    while at < len(text):
        found = _LABEL.match(text, at)
        assert found, text
        labels.append((found[1], found[2]))
        at = found.end()
    assert len({name for name, _ in labels}) == len(labels), text
    return frozenset(labels)


def _check(name: str, family: ReadFamily) -> None:
    """Check what the kind of a family promises."""
    if family.kind == "counter":
        assert name.endswith("_total"), name
        assert all(value >= 0 for value in family.samples.values()), name
    if family.kind != "histogram":
        return
    for (part, labels), count in family.samples.items():
        if part != f"{name}_count":
            continue
        buckets = {
            float(dict(own)["le"].replace("+Inf", "inf")): value
            for (each, own), value in family.samples.items()
            if each == f"{name}_bucket" and {pair for pair in own if pair[0] != "le"} == labels
        }
        ordered = [buckets[bound] for bound in sorted(buckets)]
        assert ordered == sorted(ordered), name
        assert buckets[float("inf")] == count, name
        assert (f"{name}_sum", labels) in family.samples, name


def value_of(families: dict[str, ReadFamily], name: str, **labels: str) -> float:
    """Add up the samples of a family that have these labels; of a histogram, its counts."""
    family = families[name]
    part = f"{name}_count" if family.kind == "histogram" else name
    wanted = set(labels.items())
    return sum(value for (each, own), value in family.samples.items() if each == part and wanted <= own)
