"""How people and programs reach the memory: the command line, MCP, HTTP, and the channels of the conversation.

A surface parses a request, calls one operation and renders its result. Contains no rule of memory.
"""
