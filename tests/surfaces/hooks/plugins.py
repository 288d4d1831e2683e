"""Writes the folders in `plugins/` anew: python -m tests.surfaces.hooks.plugins"""

from __future__ import annotations

import shutil
from pathlib import Path

from everloom.surfaces.hooks.events import CLIENTS
from everloom.surfaces.hooks.installing import write_plugin

PLUGINS = Path(__file__).parents[3] / "plugins"

if __name__ == "__main__":
    for client in CLIENTS:
        shutil.rmtree(PLUGINS / client, ignore_errors=True)
        # By its name alone, as it is found on the PATH of whoever installs the plugin.
        write_plugin(client, PLUGINS / client, ["everloom"], [])
