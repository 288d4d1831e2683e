"""What the agent does unasked: heartbeats, messages at a time that was set, the nightly look at itself.

Owns when, and whether at all. Refuses to know how something is said: the conversation says it.
"""
