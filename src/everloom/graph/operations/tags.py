"""What tags tell: how often, which go together, which span projects, which are missing. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from everloom.errors import Rejected
from everloom.graph.files.parser import texts
from everloom.graph.results import TagCount

LONGEST_TAG = 100
MOST_TAGS = 50
WORD = re.compile(r"[\w-]+")

Tagged = Sequence[Sequence[str]]


def checked_tags(tags: object) -> tuple[str, ...]:
    """Accept tags: a list, a list written as JSON, or words parted by commas."""
    if tags is None or tags == "":
        return ()
    if not isinstance(tags, str | list | tuple):
        raise Rejected("tags must be a list of texts", hint='write ["redis", "timeout"]')
    found = tuple(dict.fromkeys(" ".join(tag.split()) for tag in texts(tags)))
    if len(found) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in found):
        raise Rejected(
            "these are too many or too long tags", hint=f"{MOST_TAGS} of {LONGEST_TAG} characters are the most"
        )
    return found


def counted(tagged: Tagged) -> list[TagCount]:
    """Count each tag, commonest first."""
    counts = Counter(tag for tags in tagged for tag in set(tags))
    return [TagCount(tag, count) for tag, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


def together(tagged: Tagged, tag: str) -> list[TagCount]:
    """Count the tags that stand beside one."""
    beside = [[other for other in tags if other != tag] for tags in tagged if tag in tags]
    return counted(beside)


def pairs(tagged: Tagged) -> list[tuple[tuple[str, str], list[int]]]:
    """Find the tags that go together, commonest pair first, each with the places of the memories."""
    found: dict[tuple[str, str], list[int]] = {}
    for place, tags in enumerate(tagged):
        for pair in combinations(sorted(set(tags)), 2):
            found.setdefault(pair, []).append(place)
    return sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))


def spanning(tagged: Tagged, projects: Iterable[str]) -> list[tuple[str, list[TagCount]]]:
    """Find the tags that at least two projects share, widest first."""
    known = set(projects)
    spans: dict[str, Counter[str]] = {}
    for tags in tagged:
        for project in known.intersection(tags):
            for tag in set(tags) - known:
                spans.setdefault(tag, Counter())[project] += 1
    wide = [(tag, counts) for tag, counts in spans.items() if len(counts) > 1]
    wide.sort(key=lambda each: (-len(each[1]), -each[1].total(), each[0]))
    return [
        (tag, [TagCount(name, count) for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))])
        for tag, counts in wide
    ]


def suggested(
    own: Sequence[str],
    text: str,
    near: Iterable[tuple[Sequence[str], float]],
    common: Mapping[str, int],
    limit: int = 5,
) -> list[str]:
    """Suggest tags for a memory: those of its neighbours, and known tags that its text names."""
    votes: Counter[str] = Counter()
    weights: dict[str, float] = {}
    for tags, similarity in near:
        for tag in tags:
            votes[tag] += 1
            weights[tag] = weights.get(tag, 0.0) + similarity
    words = {word.lower() for word in WORD.findall(text)}
    for tag in common:
        if tag.lower() in words:
            weights[tag] = weights.get(tag, 0.0) + 1.0
            votes[tag] += 2
    fit = [tag for tag in weights if tag not in own and votes[tag] >= 2]
    return sorted(fit, key=lambda tag: (-weights[tag], tag))[:limit]
