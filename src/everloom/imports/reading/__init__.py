"""How files are read, whatever they hold: line by line, element by element, out of archives and folders.

In bounded memory, never outside the place that was named, and with a name for everything that is left out.
"""
