"""The pages that a graph generates: CORE.md, REFLECTION.md, the diary and insights.

Owns the contents of the pages. Refuses to know how a file is written. Exports nothing: each verb imports the module
that it needs.
"""
