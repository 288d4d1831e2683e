"""Embedders that run in this process from weights that an extra installs: nothing is downloaded, nothing leaves it."""
