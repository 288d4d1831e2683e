"""A story on a terminal or in a text file: small pictures made of characters, then its sentences with their scenes.

As wide as there is room, without colours. Pure. Refuses to know how a story is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, fsum

from everloom.episodic.story import Story, StoryPicture
from everloom.episodic.story.results import StoryPeriod
from everloom.surfaces.cli.render.plot import Bar, plotted
from everloom.surfaces.cli.runtime.output import shortened, width

_LEVELS = {True: "▁▂▃▄▅▆▇█", False: ".:-=+*#%"}
# What stands where nothing happened, or nothing is known.
_NONE = {True: "·", False: " "}
_NAME = 24
_NARROWEST = 30
# Up to so many days, days are named below the columns, and then months.
_DAYS_UP_TO, _MONTHS_UP_TO = 62, 732
_TITLES = {"moments": "happened", "mood": "mood"}


def story_text(story: Story, columns: int, *, fine: bool) -> list[str]:
    """Write a story: its pictures if it has any, its words, and a model's words, marked."""
    columns = max(columns, _NARROWEST)
    lines = [story.title, "=" * width(story.title), ""]
    if story.picture is not None and story.scenes:
        lines += [*story_picture(story.picture, columns, fine=fine), ""]
    for each in story.statements:
        lines += wrapped(each.line, columns, "- ")
    if story.retold is not None:
        lines += ["", f"Retold by {story.retold.model}, from the statements above:", ""]
        for part in story.retold.paragraphs:
            ids = f"[{', '.join(map(str, part.scene_ids))}]"
            lines += [*wrapped(f"{part.text} {ids}", columns), ""]
        lines += [line for remark in story.retold.remarks for line in wrapped(f"Note: {remark}", columns)]
    if story.note:
        lines += ["", *wrapped(f"Note: {story.note}", columns)]
    return lines


def wrapped(text: str, columns: int, lead: str = "") -> list[str]:
    """Break a text into lines by the columns that it takes; a word that is longer than a line is cut."""
    room = columns - len(lead)
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for char in word:
            if width(lines[-1] + char) > room:
                lines.append("")
            lines[-1] += char
    return [f"{lead if not place else ' ' * len(lead)}{line}" for place, line in enumerate(lines)]


def _cut(name: str, most: int) -> str:
    """Cut a name to so many columns."""
    line = shortened(name, most)
    while width(line) > most:
        line = f"{line.rstrip('…')[:-1]}…"
    return line


def story_picture(picture: StoryPicture, columns: int, *, fine: bool) -> list[str]:
    """Draw what happened when, how it felt, the clusters and the people."""
    longest = min(_NAME, columns // 3)
    names = [_cut(each.name, longest) for each in picture.clusters]
    labels = max(map(width, [*_TITLES.values(), *names]))
    totals = [f"{each.first_half + each.second_half:,}" for each in picture.clusters]
    captions = max(map(len, totals), default=0)
    room = columns - labels - captions - 4
    fold = max(1, ceil(len(picture.periods) / max(room, 1)))
    grain = f"a {picture.grain}" if fold == 1 else f"{fold} {picture.grain}s"

    def row(label: str, caption: str, drawn: str) -> str:
        return f"{label}{' ' * (labels - width(label))}  {caption:>{captions}}  {drawn}".rstrip()

    has_mood = any(each.emotion for each in picture.periods)
    counts = _folded([each.moments for each in picture.periods], fold)
    lines = [row(_TITLES["moments"], "", _spark(counts, max(counts, default=0), fine=fine))]
    if has_mood:
        lines.append(row(_TITLES["mood"], "", _mood(picture.periods, fold, fine=fine)))
    lines.append(row("", "", _scale(picture.periods, fold)))
    most = max(counts, default=0)
    meaning = f"A column is {grain}; the highest has {most:,} {'moment' if most == 1 else 'moments'}."
    lines += wrapped(f"{meaning} Mood is the mean valence, from -1 to +1." if has_mood else meaning, columns)
    if names:
        lines.append("")
        for name, total, arc in zip(names, totals, picture.clusters, strict=True):
            own = _folded(arc.counts, fold)
            lines.append(row(name, total, _spark(own, max(own, default=0), fine=fine)))
    if picture.people:
        bars = [Bar(_cut(each.name, longest), each.scenes, f"{each.scenes:,}") for each in picture.people]
        lines += ["", *plotted(bars, min(columns, labels + captions + 4 + len(counts)), fine=fine)]
    return lines


def _folded(counts: Sequence[int], fold: int) -> list[int]:
    return [sum(counts[place : place + fold]) for place in range(0, len(counts), fold)]


def _spark(counts: Sequence[int], most: int, *, fine: bool) -> str:
    """Draw counts as a line of columns, the highest at full height."""
    levels = _LEVELS[fine]
    return "".join(
        levels[min(len(levels) - 1, ceil(each / most * len(levels)) - 1)] if each else _NONE[fine] for each in counts
    )


def _mood(periods: Sequence[StoryPeriod], fold: int, *, fine: bool) -> str:
    """Draw the mean valence, the lowest level for -1 and the highest for +1."""
    levels, marks = _LEVELS[fine], []
    for place in range(0, len(periods), fold):
        known = [(each.emotion.valence, each.moments) for each in periods[place : place + fold] if each.emotion]
        if not known:
            marks.append(_NONE[fine])
            continue
        mean = fsum(value * moments for value, moments in known) / sum(moments for _, moments in known)
        marks.append(levels[min(len(levels) - 1, int((mean + 1) / 2 * len(levels)))])
    return "".join(marks)


def _scale(periods: Sequence[StoryPeriod], fold: int) -> str:
    """Name days, months or years below the columns, wherever there is room."""
    begins = [each.begins for each in periods[::fold]]
    span = (begins[-1] - begins[0]).days
    form = "%Y" if span > _MONTHS_UP_TO else "%b" if span > _DAYS_UP_TO else "%d %b"
    line, before = "", ""
    for place, day in enumerate(begins):
        name = f"{day:{form}}".lstrip("0")
        if name != before and len(line) <= place and (place + len(name) <= len(begins) or not line):
            line = f"{line.ljust(place)}{name} "
        before = name
    return line.rstrip()


def story_markdown(story: Story) -> str:
    """Write a story as Markdown; its pictures stand in a block of code."""
    lines = [f"# {story.title}", ""]
    if story.picture is not None and story.scenes:
        lines += ["```text", *story_picture(story.picture, 100, fine=True), "```", ""]
    lines += [f"- {_plain(each.text)} {each.sources}".rstrip() for each in story.statements]
    if story.retold is not None:
        lines += ["", f"## Retold by {_plain(story.retold.model)}", ""]
        for part in story.retold.paragraphs:
            lines += [f"{_plain(part.text)} [{', '.join(map(str, part.scene_ids))}]", ""]
    lines += ["", f"*Told from {story.scenes:,} scenes, {story.begins} to {story.ends}, without a language model.*"]
    return "\n".join([*lines, *_notes(story)]) + "\n"


def _notes(story: Story) -> Iterator[str]:
    remarks = () if story.retold is None else story.retold.remarks
    yield from (f"\n*{_plain(each)}*" for each in [*remarks, *filter(None, [story.note])])


def _plain(text: str) -> str:
    """Keep stored text from being Markdown: it could load pictures or hide links."""
    line = " ".join(text.split())
    return "".join(f"\\{char}" if char in "\\`*_<>#|![]" else char for char in line)
