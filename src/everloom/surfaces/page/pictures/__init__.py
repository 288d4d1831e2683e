"""Pictures: SVG that is made on the server from a few values. The same values always give the same picture.

Each module draws one. Colours are classes, so that light and dark both work; whatever leads somewhere is a link with a
name. Refuses to know verbs, workspaces and pages.
"""
