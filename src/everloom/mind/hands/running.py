"""Doing what was approved: each action begins once, is recorded before and after, and tells what came of it.

One process at a time does this, under the lease of the task. What was running when a process died is unknown from then
on, and is not repeated unless the person says so; only a note, whose writing can be repeated without harm, is.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from everloom.clock import MICROSECOND
from everloom.errors import EverloomError
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.mind.hands import actions
from everloom.mind.hands.actions import Action, Actions
from everloom.mind.hands.notes import apply_change
from everloom.mind.hands.offering import Hands
from everloom.mind.ports import MindSetup

# What ran unasked is looked after by its turn; one that never came back is given up after this.
_LONGEST_TURN = timedelta(hours=1)
_INTERRUPTED = "the program that did it was interrupted"


def count_due(setup: MindSetup) -> int:
    """Count the actions that are to be done, have lapsed, or were left by a process that died."""
    with setup.op.read() as unit:
        open_ = actions.in_states(unit, "waiting", "approved", "running")
    return sum(1 for each in open_ if _is_due(each, setup))


def next_due(setup: MindSetup) -> datetime | None:
    """Return when the next open action lapses, or is given up."""
    with setup.op.read() as unit:
        open_ = actions.in_states(unit, "waiting", "running")
    moments = [each.expires_at for each in open_ if each.state == "waiting"]
    moments += [
        each.began_at + _LONGEST_TURN + MICROSECOND for each in open_ if each.state == "running" and each.began_at
    ]
    return min((each for each in moments if each is not None), default=None)


def run_actions(setup: MindSetup, lease: Lease, progress: Progress) -> Report:
    """Do every approved action, oldest first."""
    done = 0
    found = Actions(setup).find("running", "waiting", "approved")
    for each in [action for action in found if _is_due(action, setup)]:
        if not lease.has_time():
            break
        _step(setup, each)
        done += 1
        progress(done)
    return Report(done)


def _step(setup: MindSetup, action: Action) -> None:
    op = setup.op
    if action.state == "waiting":
        actions.expire(op, action)
    elif action.state == "running" and action.kind == "note":
        actions.resume(op, action)
    elif action.state == "running":
        actions.end(op, action, "unknown", _INTERRUPTED)
    elif actions.begin(op, action):
        _carry_out(setup, action)


def _carry_out(setup: MindSetup, action: Action) -> None:
    if action.kind == "note":
        try:
            actions.end(setup.op, action, "done", apply_change(setup, action))
        except EverloomError as error:
            actions.end(setup.op, action, "failed", str(error))
        return
    state, result = Hands(setup).carry_out(action.server, action.tool, json.loads(action.input))
    actions.end(setup.op, action, state, result)


def _is_due(action: Action, setup: MindSetup) -> bool:
    now = setup.op.now
    if action.state == "waiting":
        return action.expires_at is not None and action.expires_at <= now
    if action.state == "running" and not action.is_asked:
        return action.began_at is not None and now - action.began_at > _LONGEST_TURN
    return True
