"""Position-only attention: where a head looks depends on positions alone, not on the tokens found there.

A layer learns one query and one key vector per head for all tokens that have a position, and one of each for
those that have none; positions turn them around a circle (positions/learned.py). So a head learns "one column up"
once, for all columns, and no combination of digits can draw its attention away, however long the number.

- *Tokens with and without a position do not see each other.* Else a query that finds no column falls on signs:
  these are a tenth of a training row, and next to nothing of a long number.
- *A null key* (attention sink) without a value is what a query falls on that finds no column. Else it would see
  the mean of all digits, and where these are but two, as in 9090 + 9090, that looks like a column of both.
- *Clipped softmax* (Bondarenko and others, 2023) sets small weights to zero. A head without use spreads over all
  digits, and what it brings would change with their number; so would the little that a useful head leaves to all
  others.
- *Heads start on near columns.* One that starts anywhere may never find a column of use.

Content heads, if the config asks for some, attend by tokens and know no positions.

Shapes: M members, B batch, H heads, T tokens of a pass, Q queries, K keys, D head width, C width.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.attention import (
    AttentionHeads,
    Pass,
    causal_keys_seen,
    causal_mask,
    float_scores,
    masked_softmax,
    queries_keys_values,
    query_scale,
    scale_queries,
    softmax_attention,
    softmax_heads,
)
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer, Linear, Noise, drop, freeze
from lengthwise.model.positions.encoding import Encoding, has_position
from lengthwise.model.positions.learned import TableEncoding, Waves
from lengthwise.model.positions.rotary import turn

MAX_ATTENTION_WEIGHTS = 1 << 25
"""Attention weights in memory at a time, where no gradient is needed."""

FAR = 12
"""Columns that heads start off the near ones, where the config asks for it: more than a sum ever needs."""

UNUSED = 2
"""So many entries of queries and keys, the first, do not take part in scores, as in all models trained so far."""


class PositionOnlyAttention(nn.Module):
    """[M, B, T, C] -> [M, B, Q, C]: the first heads attend by position, then come the content heads."""

    def __init__(self, config: ModelConfig, init: Initializer) -> None:
        super().__init__()
        self.config = config
        head_width = config.width // config.heads
        self.qk = Embedding(init, 2, 2 * config.position_heads * head_width, std=config.embedding_std)
        self.v = Linear(init, config.width, config.width, bias=config.bias)
        if config.token_heads:
            self.token_qk = Linear(init, config.width, 2 * config.token_heads * head_width, bias=config.bias)
        self.out = Linear(init, config.width, config.width, bias=config.bias, std=config.residual_std)
        self.scale = query_scale(config, init)
        if config.frozen_attention:
            freeze(self.qk)
            freeze(self, "scale")

    @torch.no_grad()
    def start_heads(self, encoding: Encoding) -> None:
        """Start every head on a column. Tokens without a position that read digits, as `=` of abacus does, start
        as if they stood before the first column."""
        encoding = _with_waves(encoding)
        assert encoding.waves is not None
        queries, keys = self.qk.weight.unflatten(-1, (2, self.config.position_heads, -1)).unbind(2)
        for kind in range(2):
            read = keys[:, kind if encoding.equals_has_position else 1]
            queries[:, kind] = queries_to_columns(read, encoding.waves, self._start_columns())

    def _start_columns(self) -> list[int]:
        """How far below its own column each head looks: in turn there, one up, one down, two up, and so on."""
        shift = FAR if self.config.head_start == "far" else 0
        return [(h + 1) // 2 * (1 if h % 2 else -1) + shift for h in range(self.config.position_heads)]

    def forward(self, x: Tensor, run: Pass) -> Tensor:
        q, k, v = queries_keys_values(self._projected(x, run), run, self.config)
        q = scale_queries(q, self.scale, self._keys_seen(q, k, run.same_problem_mask))
        count = self.config.position_heads
        y = self._position_heads(q[:, :, :count], k[:, :, :count], v[:, :, :count], run)
        if self.config.token_heads:
            y = torch.cat([y, self._content_heads(q[:, :, count:], k[:, :, count:], v[:, :, count:], run)], 2)
        return self.out(y.transpose(2, 3).flatten(3))

    def _projected(self, x: Tensor, run: Pass) -> Tensor:
        """Queries, keys and values [M, B, T, 3, H, D]."""
        qk = self.qk(has_position(run.positions).long()).to(x.dtype).expand(*x.shape[:-1], -1)
        qk = qk.unflatten(-1, (2, self.config.position_heads, -1))
        if self.config.token_heads:
            qk = torch.cat([qk, self.token_qk(x).unflatten(-1, (2, self.config.token_heads, -1))], -2)
        return torch.cat([qk, self.v(x).unflatten(-1, (1, self.config.heads, -1))], -3)

    def _keys_seen(self, q: Tensor, k: Tensor, same_problem_mask: Tensor | None) -> Tensor | None:
        """How many keys each query sees: [Q], or [M, B, H, Q] where content heads see their own problem alone."""
        if not self.config.log_length_scale:
            return None
        seen = causal_keys_seen(q, k)
        if same_problem_mask is None:
            return seen
        of_problem = same_problem_mask.sum(-1).unsqueeze(2).expand(-1, -1, self.config.token_heads, -1)
        return torch.cat([seen.expand(*of_problem.shape[:2], self.config.position_heads, -1), of_problem], 2)

    def _position_heads(self, q: Tensor, k: Tensor, v: Tensor, run: Pass) -> Tensor:
        """[M, B, H, Q, D]"""
        q, k, _ = run.encoding.attend(q, k, run.relation)
        sees_positions = has_position(run.positions[..., -run.queries :])
        if not _with_waves(run.encoding).equals_has_position:
            sees_positions = torch.ones_like(sees_positions)
        heads = PositionHeads(
            q, k, sees_positions, has_position(run.key_positions), self.config.attention_clip, self.config.null_key
        ).with_null_key()
        if run.on_attention is not None:
            run.on_attention(AttentionHeads(q.shape[2], q.shape[-2], k.shape[-2], heads.weights))
        return clipped_attention(heads, v, run.noise_at(0))

    def _content_heads(self, q: Tensor, k: Tensor, v: Tensor, run: Pass) -> Tensor:
        """[M, B, H, Q, D]. As nothing tells these heads one problem's digits from another's, they see those of
        their own problem alone."""
        mask, bias = run.same_problem_mask, None
        if mask is not None:
            bias = torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, -torch.inf).unsqueeze(2)
        if run.on_attention is not None:
            run.on_attention(softmax_heads(q, k, bias))
        return softmax_attention(q, k, v, bias, run.noise_at(3))


class PositionHeads(NamedTuple):
    """Queries and keys of position-only heads, turned by their positions."""

    q: Tensor
    """[M, B, H, Q, D]"""
    k: Tensor
    """[M, B, H, K, D]"""
    sees_positions: Tensor
    """bool [M or 1, B or 1, Q]: whether a query sees keys that have a position, or those that have none."""
    key_has_position: Tensor
    """bool [M or 1, B or 1, K] of the keys."""
    clip: float
    null_key: bool = True
    """Whether queries see the null key; if not, those alone that see nothing else."""

    def with_null_key(self) -> "PositionHeads":
        """One more key in front, seen by all queries that see positions. A query's score with it is one of its own
        entries, which does not turn."""
        q, k = (functional.pad(x[..., UNUSED:], (UNUSED, 0)) for x in (self.q, self.k))
        null, width = torch.zeros_like(k[..., :1, :]), k.shape[-1]
        null[..., width // 2] = width**0.5
        key_has_position = functional.pad(self.key_has_position, (1, 0), value=True)
        return self._replace(q=q, k=torch.cat([null, k], -2), key_has_position=key_has_position)

    def some(self, first: int, last: int) -> "PositionHeads":
        """Queries `first` to `last` - 1, with the keys up to the last of them."""
        keys = self.k.shape[-2] - self.q.shape[-2] + last
        return self._replace(
            q=self.q[..., first:last, :],
            k=self.k[..., :keys, :],
            sees_positions=self.sees_positions[..., first:last],
            key_has_position=self.key_has_position[..., :keys],
        )

    def mask(self) -> Tensor:
        """bool [M or 1, B or 1, 1, Q, K]"""
        alike = self.sees_positions.unsqueeze(-1) == self.key_has_position.unsqueeze(-2)
        seen = alike & causal_mask(self.q, self.k)
        if not self.null_key:
            seen = torch.cat([seen[..., :1] & ~seen[..., 1:].any(-1, keepdim=True), seen[..., 1:]], -1)
        return seen.unsqueeze(2)

    def weights(self, first: int, last: int) -> Tensor:
        """As `AttentionHeads` gives them."""
        some = self.some(first, last)
        scores = float_scores(some.q, some.k).masked_fill(~some.mask(), -torch.inf)
        return clipped(scores.softmax(-1), self.clip)[..., 1:]


def clipped_attention(heads: PositionHeads, v: Tensor, noise: Noise | None) -> Tensor:
    """Values [M, B, H, K, D] weighed by clipped softmax, which no fused kernel computes: [M, B, H, Q, D].

    Without gradients a few queries at a time: all weights of a long number would fill the memory.
    """
    queries, keys = heads.q.shape[-2], heads.k.shape[-2]
    if queries == v.shape[-2]:
        # A null query beside the null key: what dropout drops depends on the shape of the weights.
        heads = heads._replace(
            q=functional.pad(heads.q, (0, 0, 1, 0)),
            sees_positions=functional.pad(heads.sees_positions, (1, 0), value=True),
        )
    v = functional.pad(v, (0, 0, 1, 0))
    rows = heads.q.shape[-2]
    size = rows
    if not torch.is_grad_enabled() and noise is None:
        size = max(1, MAX_ATTENTION_WEIGHTS // (heads.q[..., 0, 0].numel() * keys))
    parts: list[Tensor] = []
    for start in range(0, rows, size):
        some = heads.some(start, min(start + size, rows))
        # Sharp heads have large scores, of which half precision would leave few digits.
        scores = some.q.float() @ some.k.float().mT * some.q.shape[-1] ** -0.5
        weights = clipped(masked_softmax(scores, some.mask()), heads.clip).to(v.dtype)
        parts.append(drop(weights, noise) @ v[..., : some.k.shape[-2], :])
    y = parts[0] if len(parts) == 1 else torch.cat(parts, -2)
    return y[..., -queries:, :]


def clipped(weights: Tensor, clip: float) -> Tensor:
    """Weights of softmax, small ones set to zero and the others a little smaller: with clip 0.1, 1 stays 1, 1/2
    becomes 0.45, and 1/11 or less becomes 0."""
    return functional.relu((1 + clip) * weights - clip)


def queries_to_columns(keys: Tensor, waves: Waves, columns: Sequence[int]) -> Tensor:
    """Queries [M, H, D] that match keys [M, H, D] so many columns up from their own, for each head."""
    turned = waves(torch.tensor(columns).view(1, 1, -1))
    of_each_head = (part[:, 0].diagonal(dim1=1, dim2=2).mT for part in turned)
    return turn(keys, *of_each_head)


def _with_waves(encoding: Encoding) -> TableEncoding:
    assert isinstance(encoding, TableEncoding), "position-only attention needs position_waves"
    return encoding
