"""What both ends of a wire know: paths and headers, the types of results, and what a memory offers on either end.

Refuses to know who serves and who asks.
"""
