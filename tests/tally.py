"""Counts what a run proves: tests, promises, processes killed and examples of Hypothesis (`pytest --tally`).

A run that became shorter is compared by these numbers with the one before.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import statistics

KEY = "tally"


class Tally:
    """The numbers of one process of a run; the process that started the workers adds up theirs."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counts: Counter[str] = Counter()
        self._promises: set[str] = set()
        self._is_testing = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.kill" and self._is_testing and arguments[1] == signal.SIGKILL:
            self._counts["processes killed"] += 1

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Count while a test runs; what the setup and the end of a fixture kill is not part of a proof."""
        self._is_testing = True
        try:
            collector: Any = statistics.collector
            with collector.with_value(self._counting(collector.value)):
                yield
        finally:
            self._is_testing = False
        self._counts["tests"] += 1
        self._promises.update(*(mark.args for mark in item.iter_markers("promise")))

    def _counting(self, outer: Callable[[Any], None] | None) -> Callable[[Any], None]:
        def count(found: Any) -> None:
            phases = [phase for name, phase in found.items() if name.endswith("-phase")]
            cases = [case for phase in phases for case in phase["test-cases"]]
            self._counts["examples of Hypothesis"] += sum(case["status"] == "valid" for case in cases)
            if outer is not None:
                outer(found)

        return count

    def pytest_sessionfinish(self) -> None:
        """Send the numbers of a worker to the process that started it."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[KEY] = [dict(self._counts), sorted(self._promises)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the numbers of a worker."""
        counts, promises = getattr(node, "workeroutput", {}).get(KEY, ({}, ()))
        self._counts.update(counts)
        self._promises.update(promises)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the numbers."""
        terminalreporter.section("tally")
        for name, number in sorted({**self._counts, "promises": len(self._promises)}.items()):
            terminalreporter.write_line(f"{number:7,} {name}")
