"""Serving over HTTP, whatever is served: an address, a gate in front of every route, start and stop.

Owns the check of tokens, limits and health. Refuses to know what is behind the gate: MCP and the channel for programs
both are, and neither knows the other.
"""
