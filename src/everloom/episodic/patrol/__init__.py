"""The patrol: what turns notes into scenes, ages them, lets them fade or come back, and keeps clusters in order.

Each step reads and asks first, then changes everything it has to in one transaction that also says it is done.
"""
