"""How people and programs reach the memory: the command line, MCP, HTTP, and the channels of the conversation.

A surface parses, calls one operation and renders its answer. No rule of memory lives here.
"""
