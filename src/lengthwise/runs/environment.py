"""Where a run was made: versions, commit and device, for its environment.json."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import lengthwise

LIBRARIES = ("numpy", "pydantic", "safetensors", "torch")


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

    Where the tree travels without its repository, LENGTHWISE_COMMIT tells.
    """
    if told := os.environ.get("LENGTHWISE_COMMIT"):
        return told
    here = Path(__file__).parent
    try:
        command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()
