"""An offline language model that says what a file of rules says, for tests, demos and dry runs.

A provider like any other: it is asked, checked and booked the same way. Knows no network.
"""
