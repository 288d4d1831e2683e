"""What the agent does on its own initiative: heartbeats, scheduled messages and the nightly pass.

Owns when the agent acts, and whether it does. Refuses to know how a message is sent; the conversation does that.
"""

from everloom.mind.initiative.heartbeat import Heartbeats
from everloom.mind.initiative.schedule import Schedule, Scheduled
from everloom.mind.initiative.self_awareness import SelfAwareness

__all__ = ["Heartbeats", "Schedule", "Scheduled", "SelfAwareness"]
