"""What all commands share: the program itself, its options, one invocation, and the output of answers and errors.

Refuses to know what any command does.
"""
