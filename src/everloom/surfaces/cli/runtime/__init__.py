"""What every command runs in: the program itself, its options, one invocation, how answers and errors are written.

Refuses to know what any command does.
"""
