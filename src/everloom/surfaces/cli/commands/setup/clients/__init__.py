"""The configuration of AI clients: which file each reads, and how this server is added, tried and taken out.

Nothing else in a file changes. Refuses to know what is remembered.
"""

from everloom.surfaces.cli.commands.setup.clients.catalog import CLIENTS, Machine
from everloom.surfaces.cli.commands.setup.clients.connecting import (
    ClientRequest,
    clients_here,
    connect,
    file_of,
    this_machine,
)
from everloom.surfaces.cli.commands.setup.clients.trying import check_clients

__all__ = ["CLIENTS", "ClientRequest", "Machine", "check_clients", "clients_here", "connect", "file_of", "this_machine"]
