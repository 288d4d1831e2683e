"""A memory on another machine: the same objects and verbs over the JSON API of `everloom serve`.

Owns requests, retries and making results again from JSON. Contains no list of verbs: they are read from the
declarations. Refuses to know any rule of memory, and checks no argument that the server checks.
"""

from everloom.remote.loom import RemoteLoom
from everloom.remote.workspace import RemoteWorkspace

__all__ = ["RemoteLoom", "RemoteWorkspace"]
