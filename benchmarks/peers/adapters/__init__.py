"""One script for each memory, run inside that memory's own environment; nothing here knows what is measured."""
