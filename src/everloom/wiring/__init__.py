"""The one place that knows all faculties: it binds the ports of each to what another one, or a model, offers.

Holds no rule of memory. A faculty never imports another one; what crosses between them crosses here.
"""
