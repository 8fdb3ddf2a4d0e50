"""lengthwise bench: how fast training, evaluation and data are here, beside what the device can do."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape

from lengthwise.commands.train import Start, starting_config
from lengthwise.errors import InputError
from lengthwise.report.tables import new_table
from lengthwise.runs.config import RunConfig

MAX_MEMBERS, MAX_SECONDS = 10_000, 3_600


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure steps per second of a config, alone and as a stack, and say what share of the ceiling that is.

    Example: lengthwise bench add --preset paper --size mini --members 8
    """

    config: Annotated[RunConfig, tyro.conf.arg(name="")]
    start: Annotated[Start, tyro.conf.arg(name="")]
    members: int = 8
    """Models in the stack; 1 measures no stack."""
    seconds: float = 3.0
    """Time for each training measurement."""
    profile: bool = False
    """Show where the time of a step goes instead."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print JSON."""

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> "Bench":
        config, start = starting_config(arguments)
        return cls(config=config, start=start)

    def run(self) -> None:
        from lengthwise.runs.costs import bench
        from lengthwise.runs.environment import choose_device, environment

        if not 1 <= self.members <= MAX_MEMBERS:
            raise InputError(f"members is {self.members} (must be 1 to {MAX_MEMBERS:,})")
        if not 0 < self.seconds <= MAX_SECONDS:
            raise InputError(f"seconds is {self.seconds:g} (must be more than 0 and at most {MAX_SECONDS:,})")
        device = choose_device(self.device)
        if self.profile:
            return self._show_profile()
        found = bench(self.config, device, members=self.members, seconds=self.seconds)
        if self.json:
            facts = {"config": self.config.model_dump(mode="json"), "environment": environment(device)}
            return print(json.dumps({**asdict(found), **facts}, indent=2))
        console = Console(highlight=False)
        best = found.ceilings
        console.print(
            f"{best.device}: {best.products_per_second / 1e12:.2f} TFLOP/s in a large matrix product, "
            f"{best.bytes_per_second / 1e9:,.0f} GB/s in a large copy",
            soft_wrap=True,
        )
        table = new_table("training", "steps/s", "model-steps/s", "of the ceiling", "set-up s")
        for rate in found.training:
            table.add_row(
                "one model" if rate.members == 1 else f"stack of {rate.members}",
                f"{rate.steps_per_second:,.1f}",
                f"{rate.model_steps_per_second:,.1f}",
                f"{100 * rate.share_of_ceiling:.1f} %",
                f"{rate.setup_seconds:.1f}",
            )
        console.print(table)
        return console.print(
            f"{found.parameters:,} parameters, {found.batch} problems of {found.tokens} tokens a step, "
            f"{found.optimizer}; evaluation {found.evaluation_seconds:.2f} s "
            f"({found.evaluation_problems_per_second:,.0f} problems/s), between steps "
            f"{found.interim_evaluation_seconds:.3f} s; data "
            f"{found.data_problems_per_second:,.0f} problems/s",
            soft_wrap=True,
        )

    def _show_profile(self) -> None:
        from lengthwise.runs.costs import profile_steps
        from lengthwise.runs.environment import choose_device

        configs = [self.config.changed(seed=self.config.seed + k) for k in range(self.members)]
        rows = profile_steps(configs, choose_device(self.device))
        if self.json:
            return print(json.dumps([{"name": n, "microseconds": t, "calls": c} for n, t, c in rows], indent=2))
        total = sum(t for _, t, _ in rows)
        table = new_table("kernel", "us per step", "% of step", "calls per step")
        for name, micros, calls in rows[:25]:
            table.add_row(escape(name[:70]), f"{micros:.1f}", f"{100 * micros / total:.1f}", f"{calls:.1f}")
        return Console(highlight=False).print(table)
