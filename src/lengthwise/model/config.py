"""The shape of a model.

>>> config = ModelConfig.named("nano", dropout=0.1)
>>> config.layers, config.heads, config.width, config.dropout
(3, 3, 48, 0.1)
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, model_validator

from lengthwise.config import Config, Count
from lengthwise.errors import InputError, unknown

SIZES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "nano": {"layers": 3, "heads": 3, "width": 48},
        "micro": {"layers": 4, "heads": 4, "width": 128},
        "mini": {"layers": 6, "heads": 6, "width": 384},
    }
)

MAX_LAYERS, MAX_WIDTH = 1_000, 2**16
"""Far above what trains here; memory sets its own bound (runs/machine.py)."""

LEAST_POSITION_HEAD_WIDTH = 6
"""Entries of a position-only head: two pairs that do not turn and one that does."""


class ModelConfig(Config):
    """A decoder-only transformer; the defaults are those of the preset `fast` at the paper's size."""

    layers: Annotated[int, Field(ge=1, le=MAX_LAYERS)] = 6
    """Transformer blocks."""

    heads: Count = 6
    """Attention heads in each block; the width must be a multiple of them."""

    width: Annotated[int, Field(ge=1, le=MAX_WIDTH)] = 384
    """Dimensions of the residual stream."""

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of activations dropped in training: embeddings, attention weights, both residual branches."""

    bias: bool = False
    """Use biases in linear layers and layer norms."""

    tied: bool = False
    """Tie the output head to the token embedding."""

    embedding_std: PositiveFloat = 0.3
    """Standard deviation of the initial token and position embeddings."""

    position_std: PositiveFloat | None = 3.0
    """Standard deviation of the initial position embeddings, if another. With large ones attention depends mostly
    on positions, and a model more often ignores digits at positions that were always zero in training."""

    position_waves: bool = False
    """Let positions rotate queries and keys around a circle, by random frequencies, instead of adding a learned
    row: what is learned about a distance then holds at every position. For encodings with a table."""

    frequency_draws: Annotated[int, Field(ge=1, le=10**6)] = 100
    """With position_waves: number of sets of random frequencies that each head draws, to keep the one that
    separates positions best."""

    place_attention: bool = False
    """Position-only attention: queries and keys are learned vectors, the same for all tokens, rotated by
    positions. A head then finds its column among thousands of tokens as among dozens, whatever the digits.
    Requires position_waves."""

    attention_clip: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """With place_attention: a softmax weight w becomes max(0, (1 + c) w - c) for this c, so that small weights
    count as zero (clipped softmax). 0 is plain softmax."""

    head_start: Literal["near", "far", "random"] = "near"
    """With place_attention: where heads attend before training. near: in turn their own column, one up, one down,
    two up, and so on; far: twelve columns further up than that, where nothing of use is; random: anywhere."""

    frozen_attention: bool = False
    """With place_attention: do not train where position-only heads attend; they stay where they start."""

    null_key: bool = True
    # Its flag is --model.no-null-key, which the words are for.
    """With place_attention: leave out the null key, so that a head that finds no column attends to all digits."""

    token_heads: NonNegativeInt = 0
    """With place_attention: number of heads in each block that are content heads instead, which attend by content
    without positions: for what is at no fixed distance, such as the short factor of a product. Where problems
    share a training row, content heads see their own problem alone."""

    block: Literal["gpt", "t5"] = "gpt"
    """Kind of transformer block. gpt: nanoGPT's. t5: the one that position coupling was published with: RMSNorm
    before and after each branch, a gated GELU, no division of attention scores by the square root of the head
    width, initial weights to match, and a tied head divided by the square root of the width."""

    context: Count | None = None
    """Rows of a learned position table, or the range that randomized positions come from; by default as many
    as the layout needs, twice that where training draws offsets, four times where it draws positions."""

    normalized_attention: bool = False
    """Normalize queries and keys to one length, times a learned factor per head: attention then cannot grow so
    sharp that it fails out of distribution."""

    log_length_scale: bool = False
    """Scale queries by the logarithm of the number of keys they see, times a learned factor per head: softmax over
    many keys is then as sharp as over the few of training."""

    loops: Annotated[int, Field(ge=1, le=MAX_LAYERS)] = 1
    """Number of times the blocks are applied in turn, the embedded input added each time: a deeper model with the
    same parameters."""

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, content: Any) -> Any:
        """Configs of version 0.1 say whether heads start near, and not where else."""
        if not isinstance(content, dict) or "start_near" not in content:
            return content
        rest = dict(content)
        return {"head_start": "near" if rest.pop("start_near") else "random", **rest}

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        width, heads = self.width, self.heads
        if width % heads:
            divisors = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            raise InputError(f"heads {heads} does not divide width {width} (choose from {divisors})")
        head_width, shown = width // heads, f"width {width} / heads {heads}"
        least = LEAST_POSITION_HEAD_WIDTH
        refused = {
            "place_attention requires position_waves": self.place_attention and not self.position_waves,
            "token_heads requires place_attention": self.token_heads and not self.place_attention,
            f"token_heads {self.token_heads} must be less than heads {heads}": self.token_heads >= heads,
            f"position_waves requires an even head width ({shown})": self.position_waves and head_width % 2,
            f"place_attention requires a head width of {least} or more ({shown} is {head_width})": (
                self.place_attention and head_width < least
            ),
        }
        for option in ("place_attention", "normalized_attention", "log_length_scale"):
            refused[f"{option} requires block gpt"] = self.block == "t5" and getattr(self, option)
        for message, applies in refused.items():
            if applies:
                raise InputError(message)
        return self

    @property
    def position_heads(self) -> int:
        """Heads of each block that positions rotate, where there are waves."""
        return self.heads - self.token_heads

    @property
    def residual_std(self) -> float:
        """Of what adds to the residual stream: 2 x layers x loops branches together start as large as one."""
        return 0.02 / math.sqrt(2 * self.layers * self.loops)

    @property
    def added_position_std(self) -> float:
        return self.position_std or self.embedding_std

    @classmethod
    def named(cls, name: str, **changes: Any) -> Self:
        """A size by its name, with changes."""
        return cls(**{**size_fields(name), **changes})


def size_fields(name: str) -> Mapping[str, int]:
    """Layers, heads and width of a size."""
    if name not in SIZES:
        raise unknown("size", name, SIZES)
    return SIZES[name]
