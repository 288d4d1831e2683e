"""A story as a file that needs nothing else: a picture with its own colours, or a page without scripts.

Every stored text is escaped. Refuses to know where the file goes.
"""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from everloom.episodic.story import Story
from everloom.surfaces.page.html import clean
from everloom.surfaces.page.pictures.story import draw_story
from everloom.surfaces.page.pictures.svg import element, picture, text

# The page's colours, for light and for dark screens.
_COLOURS = {
    "light": "#1d2430 #5c6675 #ffffff #d9dee6 #2f6fb3 #b4582a #3d8b5f #8a5aa8 #b08a1e #2a8f94 #a8446a #6a7480",
    "dark": "#e6eaf0 #9aa5b4 #171b22 #39414d #6aa7e8 #e2915f #74c495 #bd93d8 #dcb84f #63c5ca #df86a8 #a3adb9",
}
_OPENING = '<svg xmlns="http://www.w3.org/2000/svg"'


def _style(shade: str) -> str:
    ink, dim, ground, line, *colours = _COLOURS[shade].split()
    fills = " ".join(f".f{n}{{fill:{c}}} .s{n}{{stroke:{c}}}" for n, c in enumerate(colours, 1))
    return (
        f"body,svg{{background:{ground};color:{ink}}} svg text{{fill:{ink};font:12px system-ui,sans-serif}} "
        f"svg .dim{{fill:{dim}}} svg .axis{{stroke:{line};fill:none}} {fills}"
    )


def _styles() -> Markup:
    # Our own rules, with nothing stored in them.
    return Markup("<style>{}@media (prefers-color-scheme:dark){{{}}}</style>").format(
        Markup(_style("light")), Markup(_style("dark"))
    )


def _drawn(story: Story) -> Markup:
    drawn = draw_story(story)
    if drawn is None:
        said = story.statements[0].text if story.statements else story.title
        drawn = picture(760, 60, f"Story of {story.title}", said, text(20, 36, said, most=120))
    return drawn


def story_svg(story: Story) -> str:
    """Write the picture of a story as a file."""
    head, _, inside = str(_drawn(story)).partition(">")
    return f"{head.replace('<svg', _OPENING, 1)}>{_styles()}{inside}\n"


def story_html(story: Story) -> str:
    """Write a story as a page: its picture, its sentences with their scenes, and a model's words, marked."""
    title = f"Story of {story.title}"
    body = [element("h1", clean(title)), _drawn(story), element("ul", *_sentences(story)), *_retold(story)]
    told = f"Told from {story.scenes:,} scenes, {story.begins} to {story.ends}."
    body.append(element("p", element("small", told)))
    if story.note:
        body.append(element("p", element("small", clean(story.note))))
    return str(
        Markup(
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">{}'
            "<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}}"
            "svg{{max-width:100%;height:auto}} small{{opacity:.7}}</style></head><body><main>{}</main></body></html>\n"
        ).format(title, _styles(), Markup("\n").join(body))
    )


def _sentences(story: Story) -> Iterator[Markup]:
    for each in story.statements:
        yield element("li", clean(each.text), " ", element("small", each.sources) if each.sources else "")


def _retold(story: Story) -> Iterator[Markup]:
    if story.retold is None:
        return
    yield element("h2", clean(f"Retold by {story.retold.model}"))
    yield element("p", element("small", "A language model wrote these paragraphs from the sentences above."))
    for part in story.retold.paragraphs:
        yield element("p", clean(part.text), " ", element("small", f"[{', '.join(map(str, part.scene_ids))}]"))
