"""Where a run is made: the device, versions and commit for its environment.json, and running out of memory."""

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import lengthwise
from lengthwise.errors import InputError

LIBRARIES = ("numpy", "pydantic", "safetensors", "torch")


def choose_device(name: str) -> torch.device:
    there = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    try:
        device = torch.device(there[-1] if name == "auto" else name)
    except RuntimeError:
        device = None
    if device is None or device.type not in there:
        raise InputError(f"device {name!r} is not available (choose from auto, {', '.join(there)})")
    return device


def wait_for(device: torch.device) -> None:
    """Until all work given to the device is done, as a clock must."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def environment(device: torch.device) -> dict[str, Any]:
    return {
        "lengthwise": lengthwise.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.system(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source tree, with a mark if files differ from it.

    Where the tree travels without its repository, LENGTHWISE_COMMIT says it.
    """
    if commit := os.environ.get("LENGTHWISE_COMMIT"):
        return commit
    here = Path(__file__).parent
    try:
        command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()


@contextmanager
def memory_errors_explained(runs: int) -> Iterator[None]:
    """Running out of memory in work on this many runs, as one line that says what to reduce."""
    try:
        yield
    except RuntimeError as error:
        # On a CPU it is a plain RuntimeError, known by its text alone.
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        fewer = "" if runs == 1 else f"fewer than these {runs} runs side by side, "
        raise InputError(
            f"out of memory; try {fewer}a smaller --training.batch, a smaller model, shorter operands or fewer "
            "--evaluation.problems"
        ) from None
