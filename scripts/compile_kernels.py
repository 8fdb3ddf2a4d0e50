"""Compiles every kernel of a fused training step for an H200, where there is none: steps of the real shapes run on
tensors without data.

Prints how long that takes, and each kernel's registers and bytes spilled. Exit code 1 if any spills.

    python scripts/compile_kernels.py            side by side, as set-up does
    python scripts/compile_kernels.py --serial   one after another
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
from lengthwise.model.gpt import GPT
from lengthwise.recipes.configure import fast, paper
from lengthwise.runs.build import build, training_steps

RESOURCES = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
CONFIGS = {
    "64 x 66": paper("add").changed(test="D1..9"),
    "512 x 26": fast("add%101").changed(test="B1..9"),
    "512 x 45": fast("add").changed(test="D1..9", data={"operand_width": 13}),
    "64 x 66, width 1024": paper("add").changed(test="D1..9", model={"width": 1024, "heads": 16, "layers": 2}),
}


class Card:
    """What Triton asks of a GPU before it launches anything."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


def main() -> int:
    found: dict[int, Any] = {}
    driver.set_active(Card())
    GPT.compute_dtype = property(lambda self: torch.bfloat16)
    if "--serial" in sys.argv:
        triton.AsyncCompileMode = lambda pool, ignore_errors: pool
    for name, config in CONFIGS.items():
        for members in (8, 1):
            stack = build([config.changed(seed=seed) for seed in range(members)], torch.device("cpu"))
            stack.model.to("meta")
            steps: Any = training_steps(stack, "fused")
            start, before = time.perf_counter(), len(found)
            found |= {id(kernel): kernel for kernel in steps.update.launch.compiled(steps._one_step)}
            fresh, seconds = len(found) - before, time.perf_counter() - start
            print(f"{name}, {members} members: {fresh} kernels, {seconds:.1f} s")
    return max(bytes_spilled(kernel) for kernel in found.values())


def bytes_spilled(kernel: Any) -> int:
    """What does not fit into a kernel's registers."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        call = [str(RESOURCES), "--dump-resource-usage", file.name]
        text = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    registers, stack = (int(re.findall(rf"{name}:(\d+)", text)[0]) for name in ("REG", "STACK"))
    print(f"{kernel.metadata.name:20} {kernel.metadata.num_warps} warps {registers:4} registers {stack:4} spilled")
    return stack


if __name__ == "__main__":
    sys.exit(int(main() > 0))
