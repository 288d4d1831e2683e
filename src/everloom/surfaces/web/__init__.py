"""The HTTP process: one Starlette app behind one gate.

Owns addresses, tokens at the door, limits, health, start and stop. What is behind `/mcp` belongs to
`surfaces/mcp`.
"""
