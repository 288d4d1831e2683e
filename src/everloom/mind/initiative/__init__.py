"""What the agent does unasked: heartbeats, messages at a time that was set, the nightly look at itself.

Owns when, and whether at all. Refuses to know how something is said: the conversation says it.
"""

from everloom.mind.initiative.heartbeat import Heartbeats
from everloom.mind.initiative.schedule import Schedule, Scheduled
from everloom.mind.initiative.self_awareness import SelfAwareness

__all__ = ["Heartbeats", "Schedule", "Scheduled", "SelfAwareness"]
