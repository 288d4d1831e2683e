"""The web page: a memory to look at, on the server that clients use.

Owns paths, forms, templates, pictures and sign-in. Pages are made on the server and work without scripts; a few small
scripts of our own make them livelier. Contains no rule of memory: what a page shows and does are verbs of the
faculties.
"""

from everloom.surfaces.page.routes import page_routes

__all__ = ["page_routes"]
