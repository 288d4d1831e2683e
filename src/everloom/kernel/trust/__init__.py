"""What is let in, and what it is worth: secrets in what is written, where a text comes from, what waits for review.

Refuses to know what a text means, and which faculty stores it.
"""
