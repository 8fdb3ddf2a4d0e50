import os

from hypothesis import settings

# Two multi-threaded torch processes on two cores starve each other: one thread per test worker.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

# A loaded machine is not a failure: examples are counted, not timed.
settings.register_profile("lengthwise", deadline=None)
settings.load_profile("lengthwise")
