"""How many modules a stranger crosses: the walks of docs/architecture.md, run for real and counted by a profile.

    python benchmarks/walks.py [--json] [--modules]

Each walk is one operation on a store that is warm, so that only what the operation itself does is counted: opening,
loading and what happened before leave no trace. A module is crossed when one of its functions runs.
"""
