"""The built-in offline embedders: vectors of words and of pieces of words, which packages carry."""
