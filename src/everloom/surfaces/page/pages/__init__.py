"""The pages themselves, one module for each part of the memory. Each reads by verbs, and hands values to a template."""

from everloom.surfaces.page.pages import (
    changes,
    curating,
    desk,
    forgetting,
    graph,
    home,
    item,
    mind,
    owner,
    review,
    scene,
    scenes,
    search,
    story,
    subjects,
    timeline,
    venn,
    work,
)

PAGES = (
    *home.PATHS,
    *search.PATHS,
    *item.PATHS,
    *forgetting.PATHS,
    *subjects.PATHS,
    *curating.PATHS,
    *venn.PATHS,
    *timeline.PATHS,
    *scenes.PATHS,
    *scene.PATHS,
    *story.PATHS,
    *graph.PATHS,
    *mind.PATHS,
    *changes.PATHS,
    *desk.PATHS,
    *review.PATHS,
    *work.PATHS,
    *owner.PATHS,
)

__all__ = ["PAGES"]
