"""The real programs of AI clients, and the entries that `everloom init --client` writes (`make test-clients`)."""
