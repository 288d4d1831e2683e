"""An offline language model that replies by the rules in a file, for tests, demos and dry runs.

A provider like any other: it is asked, checked and metered in the same way. Refuses to know the network.
"""
