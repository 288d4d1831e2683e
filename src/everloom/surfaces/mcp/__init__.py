"""The MCP server: tools, resources and prompts over the official SDK, for both eras of the protocol.

Owns how a call becomes one operation of the Python API and how its answer is written. No rule of memory lives here, and
no state hangs on a connection: what a conversation needs is in the store.
"""
