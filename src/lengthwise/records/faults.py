"""Places where a test may have the process killed, to prove that a run survives it there."""

import os
import signal

VARIABLE = "LENGTHWISE_FAULT"

_passed: dict[str, int] = {}


def fault_point(name: str) -> None:
    """Die at once, as if the power failed, if LENGTHWISE_FAULT is `name:k` and this is the k-th pass."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if wanted == f"{name}:{_passed[name]}":
        os.kill(os.getpid(), signal.SIGKILL)
