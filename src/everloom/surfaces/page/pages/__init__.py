"""The pages themselves, one module for each part of the memory. Each reads by verbs, and hands values to a template."""

from everloom.surfaces.page.pages import changes, forgetting, home, item, mind, search

PAGES = (*home.PATHS, *search.PATHS, *item.PATHS, *forgetting.PATHS, *mind.PATHS, *changes.PATHS)

__all__ = ["PAGES"]
