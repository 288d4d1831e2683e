"""The built-in offline embedder: word vectors from the package `wordllama`."""
