"""Serving over HTTP, whatever is served: an address, a gate in front of every route, start and stop.

Owns the check of tokens, limits and health, and how a request is led to its workspace. Refuses to know what is behind
the gate: MCP, the JSON API and the channel for programs are, and none knows another.
"""
