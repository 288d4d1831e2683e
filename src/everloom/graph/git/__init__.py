"""The graph under git: commits, and how clones of one graph get along. Refuses to know the index."""
