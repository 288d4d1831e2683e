"""Tests of the ways in: command line, MCP, HTTP, channels."""
