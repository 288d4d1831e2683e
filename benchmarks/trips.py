"""How many round trips to PostgreSQL the verbs cost, counted on the wire, as a table.

    python -m benchmarks.trips

Starts a server of its own, as the tests do. Each verb is called three times; the third call is counted, with its
beginning, its end and what it leaves behind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count

from everloom.loom import Loom
from tests.engines import Engines
from tests.store.ground import open_at
from tests.store.trips import Trips, counted

ITEMS = 100
QUESTION = "Whom did Person3 see in the harbour?"


def verbs(loom: Loom) -> dict[str, Callable[[], object]]:
    """The verbs that conversations call most, each with something to do."""
    workspace = loom.workspace("james", session="monday")
    mind = workspace.semantic
    for each in range(ITEMS):
        who = f"Person{each % 10}"
        mind.remember([who, "sailing"], f"{who} saw boat number {each} in the harbour of city{each % 7}.")
    item = workspace.search("boat")[0].id
    number = count(1)
    return {
        "`remember`, known subjects": lambda: mind.remember(["Person1", "Person2"], f"Both met {next(number)} times."),
        "… two new ones": lambda: mind.remember(
            [f"Guest{next(number)}", f"Guest{next(number)}"], f"They met {next(number)} times."
        ),
        "`Workspace.search`": lambda: workspace.search(QUESTION),
        "… that mentions a time": lambda: workspace.search("Whom did Person3 see last week?"),
        "`search`": lambda: mind.search(QUESTION),
        "`recall` of a question": lambda: mind.recall(QUESTION),
        "`recall` of a subject": lambda: mind.recall("Person3"),
        "`bring_to_mind`": lambda: mind.bring_to_mind("Person3 and the harbour"),
        "`orient`": mind.orient,
        "`Workspace.show`": lambda: workspace.show(item),
        "`memory_recall` of a graph": lambda: workspace.graph.recall("harbour"),
        "`recall` of scenes": lambda: workspace.episodic.recall("harbour"),
        "`search_memory` of the conversation": lambda: workspace.mind.search_memory("harbour"),
        "opening a workspace": lambda: loom.workspace("james"),
    }


def rows(loom: Loom, trips: Trips) -> list[str]:
    """Write the table."""
    lines = ["| verb | round trips |", "|---|---|"]
    for name, call in verbs(loom).items():
        call()
        call()
        trips.reset()
        call()
        lines.append(f"| {name} | {trips.count} |")
    return lines


def main() -> None:
    """Count them."""
    engines = Engines.open()
    try:
        with engines.server().database() as url, counted(url) as (address, trips), open_at(address) as loom:
            sys.stdout.write("\n".join(rows(loom, trips)) + "\n")
    finally:
        engines.close()


if __name__ == "__main__":
    main()
