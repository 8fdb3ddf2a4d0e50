"""The demo's runs: the paper's Table 1 in miniature, small enough for two CPU cores and a few minutes.

Numbers are written in base 4, and every model is trained on operands of one and two digits and tested on up to
three. Absolute positions are `learned`, relative ones `coupled`. Modulo 4 divides a power of the base, modulo 15
does not.
"""

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes import fast

SEED = 1  # not tuned on
TASKS = ("add", "mul", "add%4", "add%15")
ENCODINGS = ("learned", "coupled")


def demo_configs() -> list[RunConfig]:
    """One run for each task and encoding; those of one encoding train as a stack."""
    return [demo_config(task, encoding) for encoding in ENCODINGS for task in TASKS]


def demo_config(task: str, encoding: str, seed: int = SEED) -> RunConfig:
    return fast(task, "nano").changed(
        train="D1..2",
        test="D1..3",
        base=4,
        encoding=encoding,
        seed=seed,
        # All answers are as wide as a product's, so that the runs have one shape.
        data={"operand_width": 3, "answer_width": 6},
        model={"layers": 2, "heads": 4, "width": 64, "dropout": 0.1, "embedding_std": 0.5},
        # Decay of the embeddings is what makes a small model ignore digits it never saw (docs/log.md).
        training={
            "batch": 32,
            "steps": 1_500,
            "learning_rate": 5e-3,
            "weight_decay": 0.5,
            "evaluate_every": 100_000,
            "checkpoint_every": 500,
        },
    )
