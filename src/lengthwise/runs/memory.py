"""Running out of memory, as one line that says what to reduce."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from lengthwise.errors import InputError


@contextmanager
def memory_told(runs: int) -> Iterator[None]:
    """For work on a stack of this many runs."""
    try:
        yield
    except RuntimeError as error:
        # On a CPU it is a plain RuntimeError, known by its text alone.
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        fewer = "" if runs == 1 else f"fewer than these {runs} runs side by side, "
        raise InputError(
            f"out of memory: allowed is less, as with {fewer}a smaller --training.batch, a smaller model, shorter "
            "operands or fewer --evaluation.problems"
        ) from None
