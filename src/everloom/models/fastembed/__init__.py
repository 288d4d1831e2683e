"""Embedders by name through the library `fastembed`, which downloads a model when it is first used."""
