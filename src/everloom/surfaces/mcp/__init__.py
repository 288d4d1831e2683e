"""The MCP server: tools, resources and prompts over the official SDK, for both eras of the protocol.

Owns how a call becomes one operation of the Python API and how its result is written. Contains no rule of memory, and
keeps no state for a connection but how much its log is told: what a conversation needs is in the store.
"""
