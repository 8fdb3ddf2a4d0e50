"""Causal attention on a GPU for short sequences, where general kernels are far from their ceiling.

Queries, keys and values are read packed, as the projection wrote them, and their gradient is written packed:
nothing is copied on the way. What is dropped is a hash, as in model/layers.py, so it is stored nowhere.

Shapes: M members, B batch, T tokens, Q the last of them that ask, H heads, D head width, N = M B examples.
"""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from lengthwise.model.layers import Noise

MOST_TOKENS = 128
SMALLEST, LARGEST = 16, 64  # blocks of tokens that a GPU program may handle at a time
HAS_TRITON = find_spec("triton") is not None


def suits_short(packed: Tensor) -> bool:
    """Whether [M, B, T, 3, H, D] can be handled here."""
    tokens, width = packed.shape[2], packed.shape[-1]
    fits = tokens <= MOST_TOKENS and width in (16, 32, 64, 128)
    return HAS_TRITON and packed.is_cuda and packed.dtype == torch.bfloat16 and fits


def short_attention(packed: Tensor, queries: int, noise: Noise | None) -> Tensor:
    """[M, B, T, 3, H, D] -> [M, B, Q, H, D] for the last Q tokens, each seeing itself and those before it."""
    none = packed.new_empty(0)
    seeds, rates = (none, none) if noise is None else noise
    return _attend(packed.flatten(0, 1), seeds, rates, queries)[0].unflatten(0, packed.shape[:2])


@torch.library.custom_op("lengthwise::short_attention", mutates_args=())
def _attend(packed: Tensor, seeds: Tensor, rates: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    from lengthwise.model.short_attention_kernels import forward  # noqa: PLC0415 (needs a GPU)

    packed = packed.contiguous()
    n, tokens, _, heads, width = packed.shape
    out, logs = _empty(packed, queries)
    forward[(n * heads,)](  # pyright: ignore[reportIndexIssue]
        packed, out, logs, seeds, rates, tokens, queries, width**-0.5, **_constants(packed, seeds)
    )
    return out, logs


@_attend.register_fake
def _(packed: Tensor, seeds: Tensor, rates: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    return _empty(packed, queries)


@torch.library.custom_op("lengthwise::short_attention_backward", mutates_args=())
def _attend_backward(
    gradient: Tensor, packed: Tensor, out: Tensor, logs: Tensor, seeds: Tensor, rates: Tensor
) -> Tensor:
    from lengthwise.model.short_attention_kernels import backward  # noqa: PLC0415 (needs a GPU)

    packed, gradient = packed.contiguous(), gradient.contiguous()
    n, tokens, _, heads, width = packed.shape
    result = torch.empty_like(packed)
    backward[(n * heads,)](  # pyright: ignore[reportIndexIssue]
        packed, gradient, out, logs, result, seeds, rates, tokens, out.shape[1], width**-0.5,
        **_constants(packed, seeds),
    )  # fmt: skip
    return result


@_attend_backward.register_fake
def _(gradient: Tensor, packed: Tensor, out: Tensor, logs: Tensor, seeds: Tensor, rates: Tensor) -> Tensor:
    return torch.empty_like(packed, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int], output: tuple[Tensor, Tensor]) -> None:
    packed, seeds, rates, _ = inputs
    ctx.save_for_backward(packed, *output, seeds, rates)


def _gradients(ctx: Any, gradient: Tensor, of_logs: Tensor | None) -> tuple[Tensor, None, None, None]:
    return _attend_backward(gradient, *ctx.saved_tensors), None, None, None


_attend.register_autograd(_gradients, setup_context=_keep)


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


def _constants(packed: Tensor, seeds: Tensor) -> dict[str, Any]:
    """What programs are compiled for; BATCH is the examples of a member, 0 where nothing is dropped."""
    n, tokens, _, heads, width = packed.shape
    batch = n // len(seeds) if len(seeds) else 0
    big, rest = blocks(tokens)
    warps = max(1, big // 16)
    return {"HEADS": heads, "WIDTH": width, "BIG": big, "REST": rest, "BATCH": batch, "num_warps": warps}
