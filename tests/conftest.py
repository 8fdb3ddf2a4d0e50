import os

import pytest
import torch
from hypothesis import settings

# Two multi-threaded torch processes on two cores starve each other: one thread per test worker.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

# Whether kernels run in Triton's interpreter is decided where any test module first imports Triton.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# A loaded machine is not a failure: examples are counted, not timed.
settings.register_profile("lengthwise", deadline=None)
settings.load_profile("lengthwise")


def pytest_collection_modifyitems(items):
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))
