"""lengthwise bench: the speed of training, evaluation and data, compared with what the device can do."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from lengthwise.commands.train import Configured
from lengthwise.errors import InputError
from lengthwise.progress import Verbosity, progress_shown
from lengthwise.report.tables import new_table

if TYPE_CHECKING:
    import torch

MAX_MEMBERS, MAX_SECONDS = 10_000, 3_600


@dataclass(frozen=True, kw_only=True)
class Bench(Configured, Verbosity):
    """Measure training steps per second, of one model and of a stack, as a share of the device's ceiling.

    Example: lengthwise bench add --preset paper --size mini --members 8
    """

    members: int = 8
    """Number of models in the stack; 1 measures no stack."""
    seconds: float = 3.0
    """Seconds for each training measurement."""
    profile: bool = False
    """Instead, show which kernels take the time of a step."""
    against: Path | None = None
    """Compare with an earlier result of the same config, a file that --json printed, as shares of the ceilings
    measured in each. Exit code 1 if anything got slower."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from lengthwise.runs.costs import bench, shares_of_ceilings
        from lengthwise.runs.machine import choose_device, environment

        if not 1 <= self.members <= MAX_MEMBERS:
            raise InputError(f"members is {self.members} (must be 1 to {MAX_MEMBERS:,})")
        if not 0 < self.seconds <= MAX_SECONDS:
            raise InputError(f"seconds is {self.seconds:g} (must be more than 0 and at most {MAX_SECONDS:,})")
        device, news = choose_device(self.device), self.news()
        if self.profile:
            return self._show_profile(device, news)
        before = None if self.against is None else self._earlier(self.against)
        with progress_shown("measuring", news) as watch:
            found = bench(self.config, device, members=self.members, seconds=self.seconds, watch=watch)
        if self.json:
            facts = {"config": self.config.model_dump(mode="json"), "environment": environment(device)}
            print(json.dumps({**found, **facts}, indent=2))
        else:
            self._show(found)
        if before is not None:
            self._compare(before, shares_of_ceilings(found))
        return None

    def _earlier(self, path: Path) -> dict[str, float]:
        """An earlier result's speeds as shares of its ceilings."""
        from lengthwise.records.files import read_json
        from lengthwise.records.folder import differences
        from lengthwise.runs.config import completed
        from lengthwise.runs.costs import shares_of_ceilings

        content = read_json(path)
        try:
            before, config = shares_of_ceilings(content), completed(content["config"])
            if not all(0 < share < math.inf for share in before.values()):
                raise ValueError("no share of a ceiling")
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise InputError(f"{path} is not a result of bench --json") from None
        if other := list(differences(config, self.config.model_dump(mode="json"))):
            raise InputError(f"{path} measured another config: {'; '.join(other)}")
        return before

    def _compare(self, before: dict[str, float], now: dict[str, float]) -> None:
        from lengthwise.runs.costs import SLOWER

        console = Console(highlight=False, stderr=self.json)
        ratios = {name: now[name] / share for name, share in before.items() if name in now}
        rows = [
            (name, f"{100 * before[name]:.3g} %", f"{100 * now[name]:.3g} %", f"{ratio:.2f}")
            for name, ratio in ratios.items()
        ]
        console.print(new_table("share of the ceiling", "before", "now", "ratio", rows=rows))
        slower = [name for name, ratio in ratios.items() if ratio < SLOWER]
        console.print(f"slower than {self.against}: {', '.join(slower) or 'nothing'}", soft_wrap=True)
        if slower:
            sys.exit(1)

    def _show(self, found: dict[str, Any]) -> None:
        from lengthwise.runs.costs import stack_words

        console = Console(highlight=False)
        products, copied = (found["ceilings"][key] for key in ("products_per_second", "bytes_per_second"))
        console.print(
            f"{found['ceilings']['device']}: {products / 1e12:.2f} TFLOP/s in a large matrix product, "
            f"{copied / 1e9:,.0f} GB/s in a large copy",
            soft_wrap=True,
        )
        table = new_table("training", "steps/s", "model-steps/s", "of the ceiling", "set-up s")
        for rate in found["training"]:
            rates = (f"{rate[key]:,.1f}" for key in ("steps_per_second", "model_steps_per_second"))
            share, setup = f"{100 * rate['share_of_ceiling']:.1f} %", f"{rate['setup_seconds']:.1f}"
            table.add_row(stack_words(rate["members"]), *rates, share, setup)
        console.print(table)
        for rate in found["training"]:
            phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in rate["setup_phases"].items())
            console.print(f"set-up of {stack_words(rate['members'])}, in seconds: {phases}", soft_wrap=True)
        console.print(
            "{parameters:,} parameters, {batch} problems of {tokens} tokens a step, {optimizer}; evaluation "
            "{evaluation_seconds:.2f} s ({evaluation_problems_per_second:,.0f} problems/s), between steps "
            "{interim_evaluation_seconds:.3f} s; data {data_problems_per_second:,.0f} problems/s".format(**found),
            soft_wrap=True,
        )

    def _show_profile(self, device: "torch.device", news: Console) -> None:
        from lengthwise.runs.costs import profile_steps

        configs = [self.config.changed(seed=self.config.seed + k) for k in range(self.members)]
        with progress_shown("measuring", news, at_once=True):
            rows = profile_steps(configs, device)
        if self.json:
            return print(json.dumps([{"name": n, "microseconds": t, "calls": c} for n, t, c in rows], indent=2))
        total = sum(t for _, t, _ in rows)
        table = new_table("kernel", "us per step", "% of step", "calls per step")
        for name, micros, calls in rows[:25]:
            table.add_row(escape(name[:70]), f"{micros:.1f}", f"{100 * micros / total:.1f}", f"{calls:.1f}")
        return Console(highlight=False).print(table)
