"""Imported before the other modules where there is no GPU: Triton's kernels then run in its interpreter."""

import os
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

from triton.runtime import interpreter

_patch_tensor = interpreter._patch_lang_tensor


def _with_bounds_of_loops(tensor: Any, scope: Any) -> None:
    """Triton 3.6 reads a loop's bounds in a way that NumPy 2.4 refuses."""
    _patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _with_bounds_of_loops
