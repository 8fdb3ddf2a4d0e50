"""The machine that a run is made on: its device, versions and commit for environment.json, and its memory.

How much memory training takes at least is known before anything is allocated; what cannot fit is refused.
"""

import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
"""Weights, gradients and one average per weight; AdamW keeps two."""

SAVED_WIDTHS, SAVED_IN_LAST = 10, 4
"""How many times the width a block saves at least, of each token, for the backward pass: values and what attention
gives, 4 + 4 in the MLP; more where queries and keys come from tokens. The last block keeps answers alone."""

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
        "libraries": {name: version(name) for name in LIBRARIES},
    }


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


def device_memory(device: torch.device) -> int:
    """Bytes that a GPU has, or that this machine has and this process may use."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *filter(None, map(_limit, _CONTROL_GROUPS))])


def _limit(path: str) -> int | None:
    """That of a container; None where there is none."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def parameter_count(model: ModelConfig, vocabulary: int, position_rows: int) -> int:
    """Of the large matrices: 10 to 12 squares of the width in a block, and the tables."""
    return 10 * model.layers * model.width**2 + (vocabulary + position_rows) * model.width


def training_memory(
    config: RunConfig, parameters: int, row_tokens: int, members: int, device: torch.device
) -> dict[str, int]:
    """Bytes that training takes at least, by what would reduce them."""
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
    """Refuse what takes more than there is, naming what takes most."""
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
