"""How the servers of `mind.mcp` are reached: the MCP SDK behind the mind's port, and the processes that it starts."""
