"""The pages themselves, one module for each part of the memory. Each reads by verbs, and hands values to a template."""

from everloom.surfaces.page.pages import forgetting, home, item, search

PAGES = (*home.PATHS, *search.PATHS, *item.PATHS, *forgetting.PATHS)

__all__ = ["PAGES"]
