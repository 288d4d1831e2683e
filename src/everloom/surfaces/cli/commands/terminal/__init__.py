"""A conversation at a terminal: the screen, the line that is being typed, slash commands, and what arrives meanwhile.

Talks through `channels.terminal`. A plain terminal gets letters and line breaks only. The line editor is our own: the
system's readline differs from machine to machine, may lack pastes, and cannot make room for a message that arrives.
"""
