"""The web page, as people meet it."""
