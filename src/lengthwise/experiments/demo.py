"""The demo's runs: the paper's Table 1 in miniature, small enough for two CPU cores and three minutes.

Every model is trained on operands of one and two digits and tested on up to three. Sums are in base 6, where
36 = 6^2 divides a power of the base and 35 does not, products in base 4. Absolute positions are `learned`,
relative ones `coupled`.
"""

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes import fast

SEED = 1
ENCODINGS = ("learned", "coupled")
TASKS = ("add", "mul", "add%36", "add%35")

# Position embeddings that outweigh tokens, many heads, and decay of the embeddings at a high learning rate of
# their own make a small model ignore digits it never saw; a larger base helps too (docs/log.md).
SUMS = {
    "base": 6,
    "data": {"operand_width": 3, "answer_width": 4},
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 0.5, "position_std": 1.5},
    "training": {"steps": 2_000, "batch": 32, "learning_rate": 4e-3, "weight_decay": 0.3},
}
PRODUCTS = {
    "base": 4,
    "data": {"operand_width": 3, "answer_width": 6},
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 1.0, "position_std": 4.0},
    "training": {"steps": 1_800, "batch": 64, "learning_rate": 8e-3, "weight_decay": 0.3},
}
# Nothing needs ignoring with relative positions, so regularization would only cost steps.
RELATIVE = {
    "model": {"context": 9, "heads": 4, "embedding_std": 0.5, "position_std": None, "dropout": 0.0},
    "training": {"steps": 900, "batch": 48, "weight_decay": 0.1},
}


def demo_configs() -> list[RunConfig]:
    """One run for each task and encoding; the sums of one encoding train as a stack."""
    return [demo_config(task, encoding) for encoding in ENCODINGS for task in TASKS]


def demo_config(task: str, encoding: str) -> RunConfig:
    start = fast(task, "nano").changed(
        train="D1..2",
        test="D1..3",
        encoding=encoding,
        seed=SEED,
        training={"evaluate_every": 100_000},
        evaluation={"problems": 5_000},
    )
    config = start.changed(**(PRODUCTS if task == "mul" else SUMS))
    return config.changed(**RELATIVE) if encoding == "coupled" else config
