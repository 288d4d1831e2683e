"""The pages that a graph writes about itself: CORE.md, REFLECTION.md, the diary, and insights.

Owns what stands on a page. Refuses to know how a page reaches the disk. Exports nothing: each verb loads the module
that it needs.
"""
