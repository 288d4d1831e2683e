"""The agent's hands: tools of other programs that it may use, and the person's word before it acts with them.

Owns which tools are offered, which of them wait for approval, the actions that wait, and that an approved one is done
once. Refuses to know how a server is reached: that is behind a port (`servers.py`).
"""
