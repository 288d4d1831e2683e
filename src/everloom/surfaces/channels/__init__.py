"""Channels on which people and programs talk with the mind: terminal, HTTP, Telegram; and the gateway that runs them.

A channel takes messages in and delivers replies. What is said, and when, belongs to `everloom.mind`; access to a port
belongs to `surfaces/web`. Refuses to know MCP.
"""
