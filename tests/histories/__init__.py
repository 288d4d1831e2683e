"""Histories: clients on every surface note what they asked and were told, while faults happen; a checker compares.

`history` is the record and the pure checker, `surfaces` are the clients, `worker` is the process behind one of them,
`faults` is what happens to the processes and the store, `trial` puts them together. `fleet` is a memory that many
processes serve, and `balancer` the door before it.
"""
