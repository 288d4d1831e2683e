"""Services on which people write: Matrix, e-mail, Slack and Discord, each a thin client and a channel in one module.

What they share is in `line` (who is answered, what is kept, how a reply is sent) and in `calls` and `sockets` (how a
service is asked). Refuses to know the gateway that runs them.
"""
