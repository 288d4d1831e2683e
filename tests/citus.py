"""A Citus cluster as one more engine of the tests: lends databases in which an empty store is spread over its nodes.

`EVERLOOM_TEST_CITUS` names its nodes by addresses separated by blanks, the coordinator's first. The role in them is no
superuser; `postgres` is one. Databases whose names begin with `everloom_test` belong to the tests, and to one run at a
time. Owns how they are made and dropped. Knows nothing of everloom.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.patience import wait_until

NODES = os.environ.get("EVERLOOM_TEST_CITUS", "").split()
PREFIX = "everloom_test"
# Enough for several on each of two nodes; every shard of every table is a few more files to copy.
SHARDS = 4


class CitusCluster:
    """Some nodes, the coordinator first, and the databases that tests have on all of them.

    Citus keeps what it knows of a database inside it, and names nodes by host and port only, so that the copies which
    each node makes of its part of a template are a distributed database like the template.
    """

    def __init__(self, nodes: Sequence[str], template: str) -> None:
        self.nodes = nodes
        self.template = template
        self._turns = count()

    def make_template(self, fill: Callable[[str], None]) -> None:
        """Make the database that all others are copies of, filled through the coordinator's address."""
        self.remove()
        for node in self.nodes:
            self._administer(node, "CREATE DATABASE {} OWNER {}", self.template, _role_of(node))
            for extension in ("citus", "vector"):
                self._administer(node, "CREATE EXTENSION {}", extension, database=self.template)
        self._add_nodes()
        self._administer(self.nodes[0], f"ALTER DATABASE {{}} SET citus.shard_count = {SHARDS}", self.template)
        fill(_at(self.nodes[0], self.template))
        for node in self.nodes:
            self._seal(node)

    def _add_nodes(self) -> None:
        with closing(psycopg.connect(self.nodes[0], user="postgres", dbname=self.template)) as coordinator, coordinator:
            for number, node in enumerate(self.nodes):
                where = conninfo_to_dict(node)
                add = "citus_add_node" if number else "citus_set_coordinator_host"
                coordinator.execute(f"SELECT {add}(%s, %s)".encode(), (where["host"], int(where.get("port") or 5432)))

    def _seal(self, node: str) -> None:
        """Let nobody connect to the template any more: nothing is copied while somebody does, Citus itself included."""
        self._administer(node, "ALTER DATABASE {} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false", self.template)
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        wait_until(lambda: self._ask(node, end, self.template) == [], "everybody to leave the template")

    @contextmanager
    def database(self, turn: int | None = None) -> Iterator[str]:
        """Lend the address of a new database with a store, at one node after the other, and drop it afterwards."""
        with self.databases() as urls:
            yield urls[(next(self._turns) if turn is None else turn) % len(urls)]

    @contextmanager
    def databases(self) -> Iterator[list[str]]:
        """Lend the addresses of a new database with a store, that at the coordinator first, and drop it afterwards."""
        name = f"{self.template}_{uuid4().hex[:12]}"
        create = "CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY file_copy"
        try:
            self._on_each(lambda node: self._administer(node, create, name, self.template, _role_of(node)))
            yield [_at(node, name) for node in self.nodes]
        finally:
            self._drop(name)

    def remove(self) -> None:
        """Drop every database of the tests, those of a run that was killed included."""
        ours = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
        for name in {row[0] for node in self.nodes for row in self._ask(node, ours, PREFIX)}:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self._on_each(lambda node: wait_until(lambda: self._has_dropped(node, name), f"{name} to be unused"))

    def _has_dropped(self, node: str, name: str) -> bool:
        if not self._ask(node, "SELECT 1 FROM pg_database WHERE datname = %s", name):
            return True
        self._administer(node, "ALTER DATABASE {} WITH IS_TEMPLATE false", name)
        # A process of Citus that has just come cannot be sent away yet.
        with suppress(psycopg.errors.ObjectInUse):
            self._administer(node, "DROP DATABASE {} WITH (FORCE)", name)
            return True
        return False

    def _on_each(self, do: Callable[[str], object]) -> None:
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(do, self.nodes))

    def _administer(self, node: str, statement: str, *names: str, database: str = "postgres") -> None:
        """Run a statement on one node alone."""
        with closing(psycopg.connect(node, user="postgres", dbname=database, autocommit=True)) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute("SET citus.enable_create_database_propagation = off")
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _ask(self, node: str, question: str, *given: str) -> list[Any]:
        with closing(psycopg.connect(node, user="postgres", dbname="postgres", autocommit=True)) as connection:
            return connection.execute(question.encode(), given).fetchall()


def _role_of(node: str) -> str:
    return str(conninfo_to_dict(node)["user"])


def _at(node: str, database: str) -> str:
    """Say how to reach another database of a node."""
    return urlsplit(node)._replace(path=f"/{database}").geturl()
