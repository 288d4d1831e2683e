"""Answers: the JSON form of every result, and the budget of tokens that it keeps within.

Refuses to know what a result means and who reads it.
"""
