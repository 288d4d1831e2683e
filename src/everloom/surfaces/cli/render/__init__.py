"""Renders results for people as lines and tables, one module for each faculty.

Reads results and nothing else: opens no store and calls no verb.
"""
