"""The JSON API: every verb of every faculty over plain HTTP, for programs that do not speak MCP.

Owns paths, problem details, the OpenAPI description and the stream of changes. Contains no list of verbs: all of it is
read from their declarations. Results are the JSON that every surface gives.
"""

from everloom.surfaces.api.routes import api_routes

__all__ = ["api_routes"]
