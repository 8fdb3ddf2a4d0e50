"""What every kind of attention here shares: what a forward pass carries, the key-value cache, softmax attention.

Shapes: M members, B batch, H heads, T tokens of a pass, Q queries (the last Q tokens), K keys (all tokens read so
far), D head width, N = M B examples.
"""

import math
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer, Noise, drop
from lengthwise.model.positions.encoding import Encoding, Relation

MOST_TOKENS, SHORT_WIDTHS = 128, (16, 32, 64, 128)  # of short attention: tokens, and widths of heads
SMALLEST, LARGEST = 16, 64  # blocks of tokens that a GPU program may handle at a time
HAS_TRITON = find_spec("triton") is not None


class Cache:
    """Keys, values and positions of the tokens read so far, with room for `length` tokens.

    Keys are kept as projected, before any encoding touches them. See `GPT.cache`.
    """

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        self._keys = torch.empty(shape, dtype=dtype, device=device)  # [layers x loops, M, B, H, length, D]
        self._values = torch.empty_like(self._keys)
        self._positions: Tensor | None = None
        self._read = self._length = self._applied = 0

    def add_positions(self, positions: Tensor) -> Tensor:
        """Open a pass: positions [M or 1, B or 1, T] of its tokens -> those of all tokens [.., K]."""
        if self._positions is not None:
            positions = torch.cat([self._positions, positions], dim=-1)
        self._positions = positions
        self._read, self._length, self._applied = self._length, positions.shape[-1], 0
        assert self._length <= self._keys.shape[-2], "the cache is full"
        return positions

    def add(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [M, B, H, T, D] of the pass's tokens -> those of all tokens [M, B, H, K, D].

        Called once per applied layer, in order.
        """
        keys, values = self._keys[self._applied], self._values[self._applied]
        self._applied += 1
        keys[..., self._read : self._length, :] = k
        values[..., self._read : self._length, :] = v
        return keys[..., : self._length, :], values[..., : self._length, :]


class AttentionHeads(NamedTuple):
    """Heads of one layer that attend in the same way."""

    heads: int
    queries: int
    tokens: int
    weights: Callable[[int, int], Tensor]
    """weights(first, last): float32 [M, B, H, last - first, K] of queries `first` to `last` - 1, over the K tokens
    that the last of these may see. A null key's weight is left out, so that they may sum to less than 1."""

    def beside(self, others: "AttentionHeads") -> "AttentionHeads":
        """These heads, then others of the same layer."""

        def weights(first: int, last: int) -> Tensor:
            return torch.cat([self.weights(first, last), others.weights(first, last)], 2)

        return self._replace(heads=self.heads + others.heads, weights=weights)


class Pass(NamedTuple):
    """What a block needs to know of a forward pass besides the tokens' vectors."""

    encoding: Encoding
    relation: Relation
    positions: Tensor
    """int64 [M or 1, B or 1, T] of the tokens of this pass."""
    key_positions: Tensor
    """int64 [M or 1, B or 1, K] of all tokens read so far."""
    queries: int
    """Only the last `queries` tokens are needed further on: all, except in the last block."""
    dtype: torch.dtype
    """That of matrix products."""
    cache: Cache | None = None
    noise: Noise | None = None
    """What to drop, in training."""
    same_problem_mask: Tensor | None = None
    """Where several problems share a row: bool [M, B, Q, K], whether a key is not after the query and belongs to
    its problem."""
    on_attention: Callable[[AttentionHeads], None] | None = None
    """Called with the heads of every attention layer."""

    def noise_at(self, place: int) -> Noise | None:
        return None if self.noise is None else self.noise.at(place)


def query_scale(config: ModelConfig, init: Initializer) -> nn.Parameter | None:
    """The learned factor of each head [M, 1, H, 1, 1], where the config asks for one."""
    has_scale = config.normalized_attention or config.log_length_scale
    return init.constant(1, config.heads, 1, 1, value=1.0) if has_scale else None


def queries_keys_values(packed: Tensor, run: Pass, config: ModelConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Projections [M, B, T, 3, H, D] -> queries [M, B, H, Q, D], and keys and values [M, B, H, K, D]."""
    q, k, v = packed.permute(3, 0, 1, 4, 2, 5)
    q = q[..., -run.queries :, :]
    if config.normalized_attention:
        q, k = (functional.rms_norm(vectors, vectors.shape[-1:]) for vectors in (q, k))
    if run.cache is not None:
        k, v = run.cache.add(k, v)
    return q, k, v


def scale_queries(q: Tensor, scale: Tensor | None, keys_seen: Tensor | None) -> Tensor:
    """Queries [M, B, H, Q, D] times the factor of their head and, where given, log(1 + number of keys seen)."""
    if scale is None:
        return q
    if keys_seen is not None:
        scale = scale * torch.log(keys_seen + 1).unsqueeze(-1)
    return q * scale.to(q.dtype)


def causal_keys_seen(q: Tensor, k: Tensor) -> Tensor:
    """How many keys each query sees, [Q]."""
    queries, keys = q.shape[-2], k.shape[-2]
    return torch.arange(keys - queries + 1, keys + 1, device=q.device)


def causal_mask(q: Tensor, k: Tensor) -> Tensor:
    """bool [Q, K]: the keys up to each query's own."""
    queries, keys = q.shape[-2], k.shape[-2]
    return torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril(keys - queries)


def softmax_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, noise: Noise | None) -> Tensor:
    """Values [M, B, H, K, D] weighed by softmax(q k / sqrt(D) + bias) over the keys up to each query's own.

    Queries [M, B, H, Q, D] are the last Q of the K tokens.
    """
    if noise is not None:
        return _attention_with_dropout(q, k, v, bias, noise)
    members, batch, heads = q.shape[:3]
    # Fused kernels want one batch axis. Where examples share their bias, members join the heads instead, so
    # that it is not repeated for every example.
    shared = bias is not None and bias.shape[1] == 1
    if bias is not None:
        bias = _fold(bias.expand(members, 1 if shared else batch, heads, -1, -1), shared)
    mask = _mask_or_bias(q, k, bias)
    folded = (_fold(x, shared) for x in (q, k, v))
    y = functional.scaled_dot_product_attention(*folded, attn_mask=mask, is_causal=mask is None)
    return y.unflatten(1, (members, heads)).transpose(0, 1) if shared else y.unflatten(0, (members, batch))


def _attention_with_dropout(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, noise: Noise) -> Tensor:
    """The same with some of the weights dropped, which no fused kernel does by member."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if bias is not None:
        scores = scores + bias
    return drop(masked_softmax(scores.float(), causal_mask(q, k)).to(v.dtype), noise) @ v


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Written out, as torch's own over few keys takes most of a step on a CPU."""
    scores = scores.masked_fill(~mask, -math.inf)
    weights = (scores - scores.detach().amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


def _fold(x: Tensor, into_heads: bool) -> Tensor:
    """[M, B, H, ...] -> [B, M H, ...] or [M B, H, ...]"""
    return x.transpose(0, 1).flatten(1, 2) if into_heads else x.flatten(0, 1)


def _mask_or_bias(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor | None:
    """What the fused kernel needs besides causality, which it knows where there are as many queries as keys."""
    if bias is None and q.shape[-2] == k.shape[-2]:
        return None
    mask = causal_mask(q, k)
    return mask if bias is None else bias.to(q.dtype).masked_fill(~mask, -math.inf)


def softmax_heads(q: Tensor, k: Tensor, bias: Tensor | None) -> AttentionHeads:
    """Heads of softmax attention, as `on_attention` receives them."""
    return AttentionHeads(q.shape[2], q.shape[-2], k.shape[-2], partial(_softmax_weights, q, k, bias))


def _softmax_weights(q: Tensor, k: Tensor, bias: Tensor | None, first: int, last: int) -> Tensor:
    keys = k.shape[-2] - q.shape[-2] + last
    q, k = q[..., first:last, :], k[..., :keys, :]
    scores = float_scores(q, k)
    if bias is not None:
        scores = scores + bias[..., first:last, :keys]
    return scores.masked_fill(~causal_mask(q, k), -math.inf).softmax(-1)


def float_scores(q: Tensor, k: Tensor) -> Tensor:
    """q k / sqrt(D) in float32, whatever comes in."""
    return q.float() @ k.float().mT / math.sqrt(q.shape[-1])


# --- short sequences on a GPU, where general kernels are far from their ceiling -----------------------------
#
# Queries, keys and values are read packed, as the projection wrote them, and their gradient is written packed:
# nothing is copied on the way. What is dropped is a hash, as in layers.py, so it is stored nowhere.


def suits_short(packed: Tensor) -> bool:
    """Whether [M, B, T, 3, H, D] can be handled here."""
    tokens, width = packed.shape[2], packed.shape[-1]
    fits = tokens <= MOST_TOKENS and width in SHORT_WIDTHS
    return HAS_TRITON and packed.is_cuda and packed.dtype == torch.bfloat16 and fits


def short_attention(packed: Tensor, queries: int, noise: Noise | None) -> Tensor:
    """[M, B, T, 3, H, D] -> [M, B, Q, H, D] for the last Q tokens, each seeing itself and those before it."""
    none = packed.new_empty(0)
    seeds, rates = (none, none) if noise is None else noise
    # As an operator it can be compiled and has a gradient; its first call also imports torch's compiler.
    needs_operator = torch.is_grad_enabled() or torch.compiler.is_compiling()
    attend = _attend_short if needs_operator else _short
    return attend(packed.flatten(0, 1), seeds, rates, queries)[0].unflatten(0, packed.shape[:2])


def _short(packed: Tensor, seeds: Tensor, rates: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    from lengthwise.model.attention_kernels import forward  # noqa: PLC0415 (needs a GPU)

    packed = packed.contiguous()
    n, tokens, _, heads, width = packed.shape
    out, logs = _empty(packed, queries)
    forward[(n * heads,)](  # pyright: ignore[reportIndexIssue]
        packed, out, logs, seeds, rates, tokens, queries, width**-0.5, **kernel_constants(packed, len(seeds))
    )
    return out, logs


_attend_short = torch.library.custom_op("lengthwise::short_attention", _short, mutates_args=())


@_attend_short.register_fake
def _(packed: Tensor, seeds: Tensor, rates: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    return _empty(packed, queries)


@torch.library.custom_op("lengthwise::short_attention_backward", mutates_args=())
def _attend_short_backward(
    gradient: Tensor, packed: Tensor, out: Tensor, logs: Tensor, seeds: Tensor, rates: Tensor
) -> Tensor:
    from lengthwise.model.attention_kernels import backward  # noqa: PLC0415 (needs a GPU)

    packed, gradient = packed.contiguous(), gradient.contiguous()
    n, tokens, _, heads, width = packed.shape
    result = torch.empty_like(packed)
    backward[(n * heads,)](  # pyright: ignore[reportIndexIssue]
        packed, gradient, out, logs, result, seeds, rates, tokens, out.shape[1], width**-0.5,
        **kernel_constants(packed, len(seeds)),
    )  # fmt: skip
    return result


@_attend_short_backward.register_fake
def _(gradient: Tensor, packed: Tensor, out: Tensor, logs: Tensor, seeds: Tensor, rates: Tensor) -> Tensor:
    return torch.empty_like(packed, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int], output: tuple[Tensor, Tensor]) -> None:
    packed, seeds, rates, _ = inputs
    ctx.save_for_backward(packed, *output, seeds, rates)


def _gradients(ctx: Any, gradient: Tensor, of_logs: Tensor | None) -> tuple[Tensor, None, None, None]:
    return _attend_short_backward(gradient, *ctx.saved_tensors), None, None, None


_attend_short.register_autograd(_gradients, setup_context=_keep)


def _empty(packed: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    """The answers [N, Q, H, D], and the logarithms of the softmax's sums [N, H, Q]."""
    n, _, _, heads, width = packed.shape
    answers = packed.new_empty(n, queries, heads, width)
    return answers, packed.new_empty(n, heads, queries, dtype=torch.float32)


def blocks(tokens: int) -> tuple[int, int]:
    """Sizes of the block of first tokens and of the rest, powers of two.

    One block where the rest would be as large as the first: that is faster.

    >>> blocks(65), blocks(28), blocks(36), blocks(128)
    ((64, 16), (32, 0), (32, 16), (64, 64))
    """
    big = SMALLEST
    while big < LARGEST and _cover(tokens - big) >= big:
        big *= 2
    return big, _cover(tokens - big)


def _cover(tokens: int) -> int:
    """The smallest block for so many tokens; 0 for none."""
    size = 0
    while size < tokens:
        size = max(SMALLEST, 2 * size)
    return size


def kernel_constants(packed: Tensor, members: int) -> dict[str, Any]:
    """What programs are compiled for. BATCH is the examples of one of the members, 0 where nothing is dropped,
    which is said by no members."""
    n, tokens, _, heads, width = packed.shape
    batch = n // members if members else 0
    big, rest = blocks(tokens)
    warps = max(1, big // 16)
    return {"HEADS": heads, "WIDTH": width, "BIG": big, "REST": rest, "BATCH": batch, "num_warps": warps}
