"""How results look to a person: lines and tables, one module for each faculty.

Reads results and nothing else: opens no store, calls no verb.
"""
