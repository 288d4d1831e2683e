"""Background work: what is due follows from the state of a workspace, a lease lets one process at a time do it.

Owns tasks, leases, the jobs that somebody started, and the kernel's own tasks. Refuses to know what the work of a
faculty does.
"""
