"""The shape of a model.

>>> config = ModelConfig.named("nano", dropout=0.1)
>>> config.layers, config.heads, config.width, config.dropout
(3, 3, 48, 0.1)
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from lengthwise.config import Config
from lengthwise.errors import InputError

SIZES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "nano": {"layers": 3, "heads": 3, "width": 48},
        "micro": {"layers": 4, "heads": 4, "width": 128},
        "mini": {"layers": 6, "heads": 6, "width": 384},
    }
)

LEAST_PLACE_WIDTH = 6
"""Entries of a head that attends by place: two pairs that do not turn and one that does."""


class ModelConfig(Config):
    """A decoder-only transformer; the defaults are those of nanoGPT at the paper's size."""

    layers: PositiveInt = 6
    """Transformer blocks."""

    heads: PositiveInt = 6
    """Attention heads in each block; they divide the width."""

    width: PositiveInt = 384
    """Dimensions of the residual stream."""

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of activations dropped in training: embeddings, attention weights, both residual branches."""

    bias: bool = False
    """Whether linear maps and layer norms have biases."""

    tied: bool = True
    """Whether the output head is the token embedding."""

    embedding_std: PositiveFloat = 0.02
    """Standard deviation of the initial token and position embeddings."""

    position_std: PositiveFloat | None = None
    """That of the position embeddings, if other. Where positions outweigh tokens, a model attends by place, and
    ignores digits at places that training left empty."""

    position_waves: bool = False
    """Whether positions, instead of having a learned row each, turn queries and keys around a circle, by angles
    drawn at random: what is learned of some distance then holds wherever it is met. For encodings with a table."""

    place_attention: bool = False
    """Whether queries and keys are learned vectors, alike for all tokens, that positions alone tell apart:
    attention then cannot depend on what stands where, and finds a column among thousands as among dozens. With
    position_waves. Heads start out on columns near by; one that finds nothing where it looks brings nothing."""

    token_heads: NonNegativeInt = 0
    """With place_attention, so many heads of each block attend by tokens instead, and know no positions: for what
    stands at no fixed distance, as the short number of a product. Where problems share a training row, they see
    their own alone."""

    context: PositiveInt | None = None
    """Rows of a learned position table, or the range that randomized positions come from; by default as many
    as the layout needs, twice that where training draws offsets, four times where it draws positions."""

    normalized_attention: bool = False
    """Whether queries and keys are brought to one length, times a learned factor per head: attention then
    cannot grow so sharp that it fails on inputs unlike those trained on."""

    log_length_scale: bool = False
    """Whether queries are scaled by the logarithm of the number of keys they see, times a learned factor per
    head: softmax over many keys is then as sharp as over the few of training."""

    loops: PositiveInt = 1
    """How often the blocks are applied in turn, the embedded input added anew each time: a deeper model with
    as many parameters."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise InputError(
                f"heads {self.heads} do not divide width {self.width}: "
                f"allowed are {', '.join(str(n) for n in range(1, self.width + 1) if self.width % n == 0)}"
            )
        return self

    @model_validator(mode="after")
    def _waves_fit(self) -> Self:
        if self.place_attention and not self.position_waves:
            raise InputError("place_attention without position_waves: allowed is with them")
        if self.token_heads and not (self.place_attention and self.token_heads < self.heads):
            raise InputError(
                f"token_heads {self.token_heads}: allowed are fewer than all {self.heads} heads, and with "
                "place_attention alone"
            )
        head_width = self.width // self.heads
        if self.position_waves and head_width % 2:
            raise InputError(
                f"width {self.width} gives heads of {head_width}: allowed with position_waves are even ones"
            )
        if self.place_attention and head_width < LEAST_PLACE_WIDTH:
            raise InputError(
                f"width {self.width} gives heads of {head_width}: "
                f"allowed with place_attention are {LEAST_PLACE_WIDTH} and more, as two pairs do not turn"
            )
        return self

    @property
    def turning_heads(self) -> int:
        """Those that positions turn, where there are waves."""
        return self.heads - self.token_heads

    @property
    def added_position_std(self) -> float:
        return self.position_std or self.embedding_std

    @classmethod
    def named(cls, name: str, **changes: Any) -> Self:
        """A size by its name, with changes."""
        if name not in SIZES:
            raise InputError(f"unknown model size {name!r}: allowed are {', '.join(SIZES)}")
        return cls(**{**SIZES[name], **changes})
