"""Compiles every kernel of a fused step for an H200, where there is none: steps of the real shapes run on tensors
without data, and kernels are compiled instead of launched. Prints each one's registers, and bytes spilled.

    python -m trials.fused.dry_run
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
from triton.runtime import driver, jit

from lengthwise.recipes.configure import fast, paper
from lengthwise.runs.build import build
from trials.fused.steps import fused_steps

RESOURCES = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
CONFIGS = {
    "64 x 66": paper("add").changed(test="D1..9"),
    "512 x 26": fast("add%101").changed(test="B1..9"),
    "512 x 45": fast("add").changed(test="D1..9", data={"operand_width": 13}),
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
    compiled: dict[int, Any] = {}
    launch = jit.JITFunction.run

    def compile_only(self: Any, *args: Any, **options: Any) -> Any:
        program = launch(self, *args, **{**options, "warmup": True})
        compiled[id(program)] = program
        return program

    driver.set_active(Card())
    jit.JITFunction.run = compile_only
    for name, config in CONFIGS.items():
        for members, choices in ((8, {}), (1, {}), (8, {"residual": torch.bfloat16, "parts": 2})):
            start, before = time.perf_counter(), len(compiled)
            stack = build([config.changed(seed=seed) for seed in range(members)], torch.device("cpu"))
            stack.model.to("meta")
            fused_steps(stack, dtype=torch.bfloat16, **choices).take(0, [1.0])
            fresh, seconds = len(compiled) - before, time.perf_counter() - start
            print(f"{name}, {members} members, {choices}: {fresh} kernels, {seconds:.1f} s")
    return max(stack_bytes(program) for program in compiled.values())


def stack_bytes(program: Any) -> int:
    """What does not fit into a kernel's registers."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(program.asm["cubin"])
        file.flush()
        call = [str(RESOURCES), "--dump-resource-usage", file.name]
        text = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    registers, stack = (int(re.findall(rf"{name}:(\d+)", text)[0]) for name in ("REG", "STACK"))
    print(
        f"{program.metadata.name:20} {program.metadata.num_warps} warps {registers:4} registers {stack:4} spilled"
    )
    return stack


if __name__ == "__main__":
    sys.exit(int(main() > 0))
