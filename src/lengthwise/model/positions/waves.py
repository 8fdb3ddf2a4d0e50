"""Positions around a circle: queries and keys turn by angles that are whole fractions of it.

As with rotary positions, a product of query and key depends on the difference of their positions alone. But here
no angle is small: frequencies are drawn at random, so that a query can tell the one position it wants from all
others, near or far; and the last position precedes the first, so that there are no edges.

Shapes: M members, B batch, H heads, T tokens, D head width.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.rotary import turn

DRAWS = 100
APART = 128.0
"""What a score loses between tokens of two kinds beyond all that it could differ by: no softmax sees across."""

FAINT = 0.1
"""A key must have more than about this share of a head's attention to be noticed."""


class Waves(nn.Module):
    """Cosines and sines [M, B or 1, H, T, D / 2] of the angles of positions 1 to `circle`; 0 is on no circle.

    The first half of each head's pairs does not turn, for what depends on tokens; where queries and keys know no
    tokens, two pairs do not.
    """

    frequency: Tensor

    def __init__(self, config: ModelConfig, circle: int, init: Initializer) -> None:
        super().__init__()
        self.circle = circle
        pairs = config.width // config.heads // 2
        still = 2 if config.place_attention else pairs // 2

        def drawn(generator: torch.Generator) -> Tensor:
            heads = [_frequencies(pairs - still, circle, generator) for _ in range(config.turning_heads)]
            return functional.pad(torch.stack(heads), (still, 0)).unsqueeze(1)

        self.register_buffer("frequency", init.made(drawn))

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        # Whole numbers first, as sines of large angles lose digits.
        turns = positions[:, :, None, :, None] * self.frequency.unsqueeze(1) % self.circle
        angle = turns * (2 * torch.pi / self.circle)
        return angle.cos(), angle.sin()


def near(keys: Tensor, waves: Waves) -> Tensor:
    """Queries [M, H, D] that find their keys [M, H, D] in a column near by: heads in turn in their own, one up,
    one down, two up, and so on. A head that starts out anywhere may never find a column of use.
    """
    columns = torch.tensor([(h + 1) // 2 * (1 if h % 2 else -1) for h in range(keys.shape[1])])
    of_each_head = (part[:, 0].diagonal(dim1=1, dim2=2).mT for part in waves(columns.view(1, 1, -1)))
    return turn(keys, *of_each_head)


def set_apart(q: Tensor, k: Tensor, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Let tokens with a place see those with one alone, and those without those without, by their first entries.

    Else a query that finds no column falls on signs: of training rows they are a tenth, of a long number nothing.
    `queries` may have a place for the occasion, to see as those do that have one. Among tokens of a kind nothing
    is added, so that no digits of their scores are lost.
    """
    q_without, q_having = _kinds(queries, q)
    k_without, k_having = _kinds(keys, k)
    lost = APART * q.shape[-1] ** 0.5 + 2 * _largest_product(q, k)
    return _beginning(q, lost * q_without, lost * q_having), _beginning(k, -k_having, -k_without)


def _largest_product(q: Tensor, k: Tensor) -> Tensor:
    """[M, B, H, Q, 1]: what no product of a query with a key, or with the one for nothing, exceeds."""
    longest = k.detach().norm(dim=-1, keepdim=True).amax(-2, keepdim=True).clamp(min=k.shape[-1] ** 0.5)
    return q.detach().norm(dim=-1, keepdim=True) * longest


def _kinds(positions: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """[M, B, 1, T, 1]: 1 for tokens without a place, and for those with one, in the dtype of `like`."""
    having = (positions > 0)[:, :, None, :, None].to(like.dtype)
    return 1 - having, having


def _beginning(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """[M, B, H, T, D] with these as its first two entries."""
    return torch.cat([torch.cat([first, second], -1).expand(*x.shape[:-1], 2), x[..., 2:]], -1)


def with_nothing(k: Tensor) -> Tensor:
    """Before the keys one more, which stands for no token: all that have a place see it alike.

    A query that finds no column falls on it. Else it would see the mean of all digits, and where these are but
    two, as in 9090 + 9090, that looks like a column of both.
    """
    nothing = torch.zeros_like(k[..., :1, :])
    nothing[..., 0], nothing[..., k.shape[-1] // 2] = -1.0, k.shape[-1] ** 0.5
    return torch.cat([nothing, k], -2)


def noticed(weights: Tensor) -> Tensor:
    """Weights of softmax without the faint ones, and what is left a little smaller: 1 stays 1, 1/2 is 0.45.

    A head that has no use spreads over all digits, and what it brings changes with their number; so does the
    little that a head with a use leaves to all others. Of less than about a tenth nothing counts (clipped softmax:
    Bondarenko and others, 2023).
    """
    return functional.relu((1 + FAINT) * weights - FAINT)


def _frequencies(count: int, circle: int, generator: torch.Generator) -> Tensor:
    """[count] whole numbers of turns around the circle: of some draws the one whose positions are least alike.

    How alike positions are that stand d apart is the mean of the cosines of d times the frequencies.
    """
    best, least = torch.zeros(count, dtype=torch.long), math.inf
    distance = torch.arange(1, max(circle, 2)).unsqueeze(1)
    for _ in range(DRAWS):
        frequency = torch.randint(1, max(circle // 2, 2), (count,), generator=generator)
        alike = (distance * frequency % circle * (2 * math.pi / circle)).cos().mean(1).max().item()
        if alike < least:
            best, least = frequency, alike
    return best
