"""The conversation: the log of record, the array that the model sees, and the turns that answer messages.

Owns messages, exchanges, turns and compactions. Refuses to know channels, files and providers: the prompt, the tools
and callbacks are passed in.
"""

from everloom.mind.conversation.alerts import CostAlert, CostWatch
from everloom.mind.conversation.array import Exchange
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.queue import Queue
from everloom.mind.conversation.stream import IncomingMessage, StreamMessage

__all__ = ["Conversation", "CostAlert", "CostWatch", "Exchange", "IncomingMessage", "Queue", "StreamMessage"]
