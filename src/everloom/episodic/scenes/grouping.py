"""Which scenes belong together: groups by average linkage, the nearest group, how far a grouping is from a fresh one.

Pure and deterministic. Refuses to know what a scene is: it gets rows and returns places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from everloom.episodic.scenes.geometry import Floats
from everloom.episodic.scenes.likeness import Likeness

Places = npt.NDArray[np.intp]


def link_groups(alike: Floats, cut: float) -> list[list[int]]:
    """Join the two groups that are most alike on average, until none are as alike as the cut; largest first.

    Along chains of nearest neighbours: the time grows with the square of the number, and the result is the same.
    """
    count = len(alike)
    # Exactly as near in both directions: a difference in the last digit would let a chain go round in a circle.
    near = ((alike + alike.T) / 2).astype(np.float32)
    np.fill_diagonal(near, -np.inf)
    members: dict[int, list[int]] = {place: [place] for place in range(count)}
    done: list[list[int]] = []
    chain: list[int] = []
    while members:
        last = chain[-1] if chain else next(iter(members))
        chain = chain or [last]
        best = int(near[last].argmax())
        # Of equals the one before it in the chain, or the chain could go round in a circle.
        if len(chain) > 1 and near[last, chain[-2]] >= near[last, best]:
            best = chain[-2]
        if near[last, best] < cut:
            # Nothing that the others become by joining is nearer than the nearest of them is now.
            done.append(sorted(members.pop(last)))
            near[last], near[:, last] = -np.inf, -np.inf
            chain.pop()
        elif len(chain) > 1 and best == chain[-2]:
            del chain[-2:]
            _unite(near, members, best, last)
        else:
            chain.append(best)
    return sorted(done, key=lambda group: (-len(group), group[0]))


def _unite(near: Floats, members: dict[int, list[int]], kept: int, gone: int) -> None:
    """Join two groups: what is near to both is as near as it is on average to their members."""
    one, other = len(members[kept]), len(members[gone])
    joined = (one * near[kept] + other * near[gone]) / (one + other)
    joined[[kept, gone]] = -np.inf
    near[kept], near[:, kept] = joined, joined
    near[gone], near[:, gone] = -np.inf, -np.inf
    members[kept] += members.pop(gone)


def nearest_groups(likeness: Likeness, places: Sequence[int], groups: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Find for each place the group that it is most like on average, if it is as alike as the cut."""
    names = [name for name, group in groups.items() if len(group)]
    if not names or not len(places):
        return {}
    means = np.stack([likeness.rows[list(groups[name])].mean(axis=0) for name in names])
    near = likeness.rows[list(places)] @ means.T
    best = near.argmax(axis=1)
    return {
        place: names[choice]
        for place, choice, value in zip(places, best.tolist(), near.max(axis=1).tolist(), strict=True)
        if value >= likeness.cut
    }


def worth_of(likeness: Likeness, groups: Sequence[Sequence[int]]) -> float:
    """Sum up by how much the pairs within groups are more alike than the cut; linkage looks for the most of it."""
    worth = 0.0
    for group in groups:
        rows, count = likeness.rows[list(group)].astype(np.float64), len(group)
        whole = rows.sum(axis=0)
        worth += (float(whole @ whole) - float((rows * rows).sum()) - likeness.cut * count * (count - 1)) / 2
    return worth


def match_groups(fresh: Sequence[Sequence[int]], old: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Find which fresh group continues which old one: it must hold at least half of the old one's members.

    The answer is the old name by the number of the fresh group. The largest overlaps choose first, and nobody twice.
    """
    homes = {place: name for name, group in old.items() for place in group}
    shared: dict[tuple[int, int], int] = {}
    for number, group in enumerate(fresh):
        for place in group:
            if place in homes:
                shared[number, homes[place]] = shared.get((number, homes[place]), 0) + 1
    found: dict[int, int] = {}
    for (number, name), count in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
        if number not in found and name not in found.values() and 2 * count >= len(old[name]):
            found[number] = name
    return found
