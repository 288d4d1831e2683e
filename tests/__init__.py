"""Tests of everything that users are promised, on both engines."""

import os

# As the command line does: one process a core runs the tests, and threads that wait for work in a matrix of a few
# hundred rows would take half of the processor away from the others. It counts only before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
