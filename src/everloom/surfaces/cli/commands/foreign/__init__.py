"""The commands that take memories in from other programs."""
