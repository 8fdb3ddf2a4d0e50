"""What a recipe is: a name, what it is for, and the rows it trains, each with any number of seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lengthwise.errors import InputError
from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.presets import PRESETS, muon, preset

SCALES = ("full", "laptop")
TUNING_SEED = 0
FRESH_SEED, FRESH_SEEDS = 101, 3
"""The paper's tables are reported on seeds that nothing was tuned on: 101 to 103 (docs/protocol.md)."""
OPERAND_WIDTH = 10
CHECKPOINT_EVERY = 2_500


class Row(NamedTuple):
    """A line of a table or a curve of a figure: what it is called, and its config but for the seed."""

    name: str
    config: RunConfig


class NamedRun(NamedTuple):
    name: str
    config: RunConfig


@dataclass(frozen=True, kw_only=True)
class Setting:
    """At which scale a recipe is run, and where its hyperparameters come from."""

    scale: str = "full"
    preset: str = "fast"

    def __post_init__(self) -> None:
        for kind, value, allowed in (("scale", self.scale, SCALES), ("preset", self.preset, PRESETS)):
            if value not in allowed:
                raise InputError(f"unknown {kind} {value!r}: allowed are {', '.join(allowed)}")
        if self.laptop and self.preset != "fast":
            raise InputError(f"preset {self.preset!r} has no scale 'laptop': allowed is fast")

    @property
    def laptop(self) -> bool:
        return self.scale == "laptop"


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What experiments beside the paper's tables were tuned to on seed 0. Rows of equal steps and batch stack."""

    steps: int = 6_500
    batch: int = 256
    dropout: float = 0.1
    decay: float = 0.05
    muon_rate: float = 0.02
    rate: float = 1e-3
    position_std: float | None = None
    sampling: str | None = None
    """The config's own where None."""
    evaluate_every: int = 500

    def applied(self, config: RunConfig) -> RunConfig:
        return config.changed(
            model={"dropout": self.dropout, "position_std": self.position_std},
            data={"sampling": self.sampling or config.data.sampling},
            training={
                "steps": self.steps,
                "batch": self.batch,
                "weight_decay": self.decay,
                "muon_learning_rate": self.muon_rate,
                "learning_rate": self.rate,
                "evaluate_every": self.evaluate_every,
                "checkpoint_every": CHECKPOINT_EVERY,
            },
        )


@dataclass(frozen=True)
class Recipe:
    name: str
    purpose: str
    rows: Callable[[Setting], list[Row]]
    seeds: int = 1
    """How many at full scale, where none are asked for; in small, one."""
    first_seed: int = 1
    """Where lower ones were looked at in tuning too."""

    def usual_seeds(self, setting: Setting) -> int:
        return 1 if setting.laptop else self.seeds

    def runs(self, setting: Setting, seeds: int, only: Sequence[str] = ()) -> list[NamedRun]:
        """Every row with `seeds` seeds from the first; 0 stands for the seed that is tuned on, alone."""
        numbers = range(self.first_seed, self.first_seed + seeds) if seeds else (TUNING_SEED,)
        return [
            NamedRun(f"{row.name}-s{seed}", row.config.changed(seed=seed))
            for row in self.chosen(setting, only)
            for seed in numbers
        ]

    def chosen(self, setting: Setting, only: Sequence[str]) -> list[Row]:
        rows = {row.name: row for row in self.rows(setting)}
        for name in only:
            if name not in rows:
                raise InputError(f"recipe {self.name!r} has no row {name!r}: allowed are {', '.join(rows)}")
        return [rows[name] for name in only or rows]


def full_scale(
    setting: Setting,
    task: str,
    train: str,
    test: str,
    tuning: Tuning | None = None,
    *,
    size: str = "mini",
    answer_width: int | None = None,
) -> RunConfig:
    """A run of the paper's training domain and model size, from the preset asked for; a tuning of its own replaces
    the preset `fast`."""
    start = preset(setting.preset, task, size)
    if setting.preset != "paper":
        start = (start if tuning is None else tuning.applied(muon(task, size))).changed(
            data={"operand_width": OPERAND_WIDTH}
        )
    return start.changed(train=train, test=test, data={"answer_width": answer_width})
