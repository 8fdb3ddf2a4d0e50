"""Where configs start from: presets, what experiments were tuned to, small models for a laptop, the demo's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig, size_fields
from lengthwise.runs.config import RunConfig

T = TypeVar("T")

SCALES = ("full", "laptop")
OPERAND_WIDTH = 10
CHECKPOINT_EVERY = 2_500


def paper(task: str, size: str = "mini") -> RunConfig:
    """The paper's hyperparameter table, and its code where the table is silent.

    The table gives one rate and one dropout for all tasks. The paper's code differs for multiplication:
    dropout 0.1 and a constant rate; this follows the code.
    """
    multiplies = task.startswith("mul")
    return RunConfig.stored(
        task=task,
        model={**size_fields(size), "dropout": 0.1 if multiplies else 0.2, "bias": False, "context": 256},
        data={"sampling": "paper", "samples": 100_000, "operand_width": 20},
        training={
            "optimizer": "adamw",
            "learning_rate": 1e-3,
            "betas": (0.9, 0.99),
            "weight_decay": 0.1,
            "clip": 1.0,
            "schedule": "constant" if multiplies else "cosine",
            "batch": 64,
            "steps": 100_000,
            "evaluate_every": 5_000,
            "checkpoint_every": 5_000,
        },
    )


def muon(task: str, size: str = "mini") -> RunConfig:
    """What takes a fraction of the paper's steps: Muon, larger embeddings, an untied head, fresh problems."""
    model = {**size_fields(size), "dropout": 0.1, "tied": False, "embedding_std": 0.3}
    return RunConfig.stored(task=task, model=model)


def fast(task: str, size: str = "mini") -> RunConfig:
    """One recipe for every task, and the defaults of all configs: it converges, and makes a model ignore digits it
    never saw.

    Position embeddings that outweigh tokens, weight decay and dropout let attention go by position alone, so that
    longer operands change nothing. Sparse digits take the model off the plateaus where it knows only part of an
    answer. The rate starts to fall once half of every training length is right, and training ends 6,000 steps
    later: what lies beyond these lengths settles last, and at a constant rate the hardest tasks get no further.
    """
    return RunConfig(task=task, model=ModelConfig.named(size))


PRESETS: dict[str, Callable[[str, str], RunConfig]] = {"fast": fast, "paper": paper}


def preset(name: str, task: str, size: str = "mini") -> RunConfig:
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r} (choose from {', '.join(PRESETS)})")
    return PRESETS[name](task, size)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """At which scale a recipe is run, and where its hyperparameters come from."""

    scale: str = "full"
    preset: str = "fast"

    def __post_init__(self) -> None:
        for kind, value, allowed in (("scale", self.scale, SCALES), ("preset", self.preset, PRESETS)):
            if value not in allowed:
                raise InputError(f"unknown {kind} {value!r} (choose from {', '.join(allowed)})")
        if self.laptop and self.preset != "fast":
            raise InputError(f"scale 'laptop' requires preset fast, not {self.preset!r}")

    @property
    def laptop(self) -> bool:
        return self.scale == "laptop"

    def pick(self, full: T, laptop: T) -> T:
        """What is meant for this scale."""
        return laptop if self.laptop else full


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What experiments beside the paper's tables were tuned to on seed 0. Rows of equal steps and batch stack."""

    steps: int
    batch: int = 256
    dropout: float = 0.1
    decay: float = 0.05
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
                "learning_rate": self.rate,
                "evaluate_every": self.evaluate_every,
                "checkpoint_every": CHECKPOINT_EVERY,
            },
        )


def paper_run(
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
    the preset `fast`. At the scale of a laptop only the question is the paper's."""
    if setting.laptop:
        return small(task, train, test)
    start = preset(setting.preset, task, size)
    if setting.preset != "paper":
        start = start if tuning is None else tuning.applied(muon(task, size))
        start = start.changed(data={"operand_width": OPERAND_WIDTH})
    return start.changed(train=train, test=test, data={"answer_width": answer_width})


# At the scale of a laptop. Position embeddings that outweigh tokens, many heads, and decay of the embeddings at a
# high learning rate of their own make a small model ignore digits it never saw; a larger base helps too.
SMALL_SUMS: dict[str, Any] = {
    "base": 6,
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 0.5, "position_std": 1.5},
    "training": {"steps": 2_400, "batch": 32, "learning_rate": 3e-3, "weight_decay": 0.3},
}
SMALL_PRODUCTS: dict[str, Any] = {
    "base": 4,
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 1.0, "position_std": 4.0},
    "training": {"steps": 1_800, "batch": 64, "learning_rate": 8e-3, "weight_decay": 0.3},
}
# Nothing needs ignoring with relative positions, so regularization would only cost steps.
SMALL_RELATIVE: dict[str, Any] = {"heads": 4, "dropout": 0.0, "normalized_attention": True}


def small(task: str, train: str, test: str = "D1..3") -> RunConfig:
    """A run that learns operands of up to two digits in a minute, tested one length above."""
    start = muon(task, "nano").changed(
        train=train,
        test=test,
        evaluation={"problems": 2_000, "interim_problems": 500},
        training={"evaluate_every": 500, "checkpoint_every": 1_000},
    )
    return start.changed(**(SMALL_PRODUCTS if task.startswith("mul") else SMALL_SUMS))


DEMO_SEED = 1
DEMO_ENCODINGS, DEMO_TASKS = ("learned", "coupled"), ("add", "mul", "add%36", "add%35")
DEMO_RELATIVE: dict[str, Any] = {
    "model": {"context": 9, "embedding_std": 0.5, "position_std": 1.5, **SMALL_RELATIVE},
    "training": {"steps": 900, "batch": 48, "learning_rate": 1e-3, "weight_decay": 0.1},
}


def demo_configs() -> list[RunConfig]:
    """The paper's Table 1 in miniature, for two CPU cores and three minutes: one run for each task and encoding;
    the sums of one encoding train as a stack.

    Every model is trained on operands of one and two digits and tested on up to three. Sums are in base 6, where
    36 = 6^2 divides a power of the base and 35 does not, products in base 4. Absolute positions are `learned`,
    relative ones `coupled`.
    """
    return [_demo(task, encoding) for encoding in DEMO_ENCODINGS for task in DEMO_TASKS]


def _demo(task: str, encoding: str) -> RunConfig:
    width = {"operand_width": 3, "answer_width": 6 if task == "mul" else 4}
    config = small(task, "D1..2", "D1..3").changed(
        encoding=encoding, seed=DEMO_SEED, data=width, evaluation={"problems": 5_000, "interim_problems": 300}
    )
    return config.changed(**DEMO_RELATIVE) if encoding == "coupled" else config
