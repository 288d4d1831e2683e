"""What a text has to tell to answer a question, and how likely it does.

Owns the table of everyday attributes and the weights of the evidence. Refuses to know how texts are found.
"""
