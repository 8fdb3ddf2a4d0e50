"""Presets: named starting points of a config. The difference between two is a few readable lines."""

from collections.abc import Callable

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.runs.config import RunConfig
from lengthwise.tokens.config import DataConfig
from lengthwise.training.config import TrainingConfig


def paper(task: str, size: str = "mini") -> RunConfig:
    """The paper's hyperparameter table, and its code where the table is silent.

    The table gives one rate and one dropout for all tasks. The paper's code differs for multiplication:
    dropout 0.1 and a constant rate; this follows the code.
    """
    multiplies = task.startswith("mul")
    return RunConfig(
        task=task,
        model=ModelConfig.named(size, dropout=0.1 if multiplies else 0.2, bias=False, context=256),
        data=DataConfig(sampling="paper", samples=100_000, operand_width=20),
        training=TrainingConfig(
            optimizer="adamw",
            learning_rate=1e-3,
            betas=(0.9, 0.99),
            weight_decay=0.1,
            clip=1.0,
            schedule="constant" if multiplies else "cosine",
            batch=64,
            steps=100_000,
            evaluate_every=5_000,
            checkpoint_every=5_000,
        ),
    )


def muon(task: str, size: str = "mini") -> RunConfig:
    """What takes a fraction of the paper's steps: Muon, larger embeddings, an untied head, fresh problems."""
    return RunConfig(
        task=task,
        model=ModelConfig.named(size, dropout=0.1, tied=False, embedding_std=0.3),
        training=TrainingConfig(),
    )


def fast(task: str, size: str = "mini") -> RunConfig:
    """One recipe for every task: it converges, and makes a model ignore digits it never saw.

    Position embeddings that outweigh tokens, weight decay and dropout let attention go by position alone, so that
    longer operands change nothing. Sparse digits take the model off the plateaus where it knows only part of an
    answer. Training ends a fixed number of steps after every training length is learned, as what lies beyond
    these lengths settles later.
    """
    return muon(task, size).changed(
        model={"position_std": 3.0},
        data={"sparse": 0.8, "sparse_problems": 2_000_000},
        training={
            "batch": 512,
            "weight_decay": 0.1,
            "schedule": "wsd",
            "target": 0.99,
            "cooldown": 2_000,
            "steps": 16_000,
            "evaluate_every": 500,
            "checkpoint_every": 2_500,
        },
    )


PRESETS: dict[str, Callable[[str, str], RunConfig]] = {"fast": fast, "paper": paper}


def preset(name: str, task: str, size: str = "mini") -> RunConfig:
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r}: allowed are {', '.join(PRESETS)}")
    return PRESETS[name](task, size)
