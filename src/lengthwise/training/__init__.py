"""Training a stack: its config, data, optimizer, steps and checkpoints. What to measure comes in as a callback.

Importing this package imports no torch.
"""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from lengthwise.config import Config, Count

Share = Annotated[float, Field(ge=0, lt=1)]


class TrainingConfig(Config):
    """The defaults are the preset `fast`: Muon, which learns addition in a tenth of AdamW's steps."""

    optimizer: Literal["adamw", "muon"] = "muon"
    """Muon for matrices inside the blocks and AdamW for the rest, or AdamW for all."""

    learning_rate: PositiveFloat = 1e-3
    """AdamW's learning rate."""

    muon_learning_rate: PositiveFloat = 0.02
    """Muon's learning rate."""

    muon_momentum: Share = 0.95
    """Muon's momentum."""

    betas: tuple[Share, Share] = (0.9, 0.99)
    """AdamW's averaging of gradients and of their squares."""

    weight_decay: NonNegativeFloat = 0.1
    """Decay of matrices and embeddings, per unit of learning rate."""

    clip: PositiveFloat = 1.0
    """Largest norm of a member's gradient."""

    schedule: Literal["constant", "cosine", "linear", "wsd"] = "wsd"
    """How the learning rate falls: not at all, to a tenth along a cosine, linearly to zero, or wsd (warmup,
    stable, decay): not until the training domain is learned (`target`), then linearly to zero over `cooldown`
    steps."""

    cooldown: Count = 6_000
    """Steps over which the schedule wsd lets the learning rate fall; the run ends with them."""

    warmup: Annotated[int, Field(ge=0, le=10**9)] = 100
    """Steps over which the learning rate rises at the start."""

    batch: Count = 512
    """Problems in a step."""

    steps: Count = 16_000
    """Steps at most; the schedule wsd starts its cool-down early enough to end with them."""

    seconds: PositiveFloat | None = None
    """Seconds of training at most; the schedule then ends with them."""

    target: Annotated[float, Field(gt=0, le=1)] | None = 0.5
    """Accuracy on every length of the training domain at which it counts as learned: at the first evaluation that
    finds it, the schedule wsd starts its cool-down, and any other schedule stops."""

    evaluate_every: Count = 500
    """Steps between evaluations."""

    checkpoint_every: Count = 2_500
    """Steps between checkpoints."""
