"""The built-in embedder, which needs no network: word vectors that come with the package `wordllama`."""
