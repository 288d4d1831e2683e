"""What concerns the whole server, for whoever runs it: workspaces, tokens, settings, and whether everything works."""

from everloom.surfaces.page.pages.owner import doctor, settings, tokens, workspaces

PATHS = (*workspaces.PATHS, *tokens.PATHS, *settings.PATHS, *doctor.PATHS)

__all__ = ["PATHS"]
