"""The machine that a run is trained on: its device, versions and commit for environment.json, and its memory.

The least memory that training needs is computed before anything is allocated, and a run that cannot fit is
refused.
"""

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import lengthwise
from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.runs.config import RunConfig

LIBRARIES = ("numpy", "pydantic", "safetensors", "torch")

FLOAT = 4
STATES = 3
"""Copies of the weights: weights, gradients and one average per weight (AdamW has two)."""

SAVED_WIDTHS, SAVED_IN_LAST = 10, 4
"""What a block saves at least for the backward pass, in widths per token: values and the attention's output, 4 + 4
in the MLP; more if queries and keys come from tokens. The last block saves only answers."""

SMALLER_MODEL = "a smaller --model.width or fewer --model.layers"

_CONTROL_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


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
    """Wait until the device has finished all its work, for timing."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def environment(device: torch.device) -> dict[str, Any]:
    return {
        "lengthwise": lengthwise.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.system(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _commit() -> str | None:
    """The commit of the source tree, marked if files differ from it.

    Without a repository, LENGTHWISE_COMMIT may give it.
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


def device_memory(device: torch.device) -> int:
    """Bytes of memory of a GPU, or of this machine within the limits of this process."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CONTROL_GROUPS:
        with suppress(OSError, ValueError):  # a container without a limit, which some write as 0
            limits.append(int(Path(path).read_text()) or limits[0])
    return min(limits)


def parameter_count(model: ModelConfig, vocabulary: int, position_rows: int) -> int:
    """A lower bound of the parameters in large matrices: 10 to 12 squares of the width per block, and the
    tables."""
    return 10 * model.layers * model.width**2 + (vocabulary + position_rows) * model.width


def training_memory(
    config: RunConfig, parameters: int, row_tokens: int, members: int, device: torch.device
) -> dict[str, int]:
    """Bytes that training needs at least, by the option that would reduce them."""
    model, samples = config.model, config.data.samples or 0
    value = 2 if device.type == "cuda" else FLOAT  # bfloat16 there
    widths = SAVED_WIDTHS * (model.layers * model.loops - 1) + SAVED_IN_LAST
    tokens = config.training.batch * (row_tokens - 1)
    problem = 2 * (config.operand_width + config.answer_width) + 16  # a byte a digit; it is drawn by two counters
    return {
        SMALLER_MODEL: members * STATES * FLOAT * parameters,
        "a smaller --training.batch": members * tokens * value * model.width * widths,
        "fewer --evaluation.problems": members * config.evaluation.problems * problem,
        "fewer --data.samples": members * samples * problem,
    }


def refuse_beyond(needed: Mapping[str, int], device: torch.device, members: int) -> None:
    """Raise an InputError if more memory is needed than there is, naming the option that needs most."""
    total, there = sum(needed.values()), device_memory(device)
    if total <= there:
        return
    advice = max(needed, key=lambda what: needed[what])
    fewer = "" if members == 1 else f"fewer than these {members:,} runs side by side, or "
    where = "this GPU" if device.type == "cuda" else "this machine"
    raise InputError(
        f"needs at least {_gigabytes(total)} of memory; {where} has {_gigabytes(there)} (try {fewer}{advice})"
    )


def _gigabytes(count: int) -> str:
    """
    >>> _gigabytes(2**31), _gigabytes(10**15)
    ('2.0 GB', '931,323 GB')
    """
    size = count / 2**30
    return f"{size:.1f} GB" if size < 100 else f"{size:,.0f} GB"


@contextmanager
def memory_errors_explained(runs: int) -> Iterator[None]:
    """Turn running out of memory into one line that says what to reduce."""
    try:
        yield
    except RuntimeError as error:
        # On a CPU it is a plain RuntimeError, known only by its text.
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        fewer = "" if runs == 1 else f"fewer than these {runs} runs side by side, "
        raise InputError(
            f"out of memory; try {fewer}a smaller --training.batch, a smaller model, shorter operands or fewer "
            "--evaluation.problems"
        ) from None
