"""What serving over HTTP takes, whatever is served: an address, a gate before every route, start and stop.

Owns tokens at the door, limits and health. Refuses to know what lies behind the gate: MCP and the channel for programs
both stand behind it, and neither knows the other.
"""
