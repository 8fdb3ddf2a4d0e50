"""Small models for two CPU cores: what the recipes of scale `laptop` train, in small bases."""

from typing import Any

from lengthwise.runs.config import RunConfig
from lengthwise.runs.recipes.presets import muon

# Position embeddings that outweigh tokens, many heads, and decay of the embeddings at a high learning rate of
# their own make a small model ignore digits it never saw; a larger base helps too (docs/log.md).
SUMS: dict[str, Any] = {
    "base": 6,
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 0.5, "position_std": 1.5},
    "training": {"steps": 2_400, "batch": 32, "learning_rate": 3e-3, "weight_decay": 0.3},
}
PRODUCTS: dict[str, Any] = {
    "base": 4,
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 1.0, "position_std": 4.0},
    "training": {"steps": 1_800, "batch": 64, "learning_rate": 8e-3, "weight_decay": 0.3},
}


def small(task: str, train: str, test: str = "D1..3") -> RunConfig:
    """A run that learns operands of up to two digits in a minute, tested one length above."""
    return (
        muon(task, "nano")
        .changed(
            train=train,
            test=test,
            evaluation={"problems": 2_000, "interim_problems": 500},
            training={"evaluate_every": 500, "checkpoint_every": 1_000},
        )
        .changed(**(PRODUCTS if task.startswith("mul") else SUMS))
    )
