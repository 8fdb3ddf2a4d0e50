"""Why answers are right or wrong, from one pass over problem and right answer:

- the position of the first wrong digit, in tenths of the answer as written, or that no digit is wrong;
- the margin: right logit minus best other, at the token of an answer where it is smallest;
- for each head, its largest attention weight when an answer digit is written, and its attention on the digits that
  this one needs: those of its own column and of the column below, in both operands.

Attention weights are recomputed (`watch`), as fused attention does not return them.

Shapes: M members, N problems, T tokens, S tokens from the first of any answer to the last, L layers, H heads,
Q queries, the last of K keys.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor

from lengthwise.evaluation.measure import Row, answer_span, row_makers
from lengthwise.evaluation.problems import Pair, Subject
from lengthwise.model.attention import AttentionHeads
from lengthwise.model.gpt import GPT
from lengthwise.records.schema import Record
from lengthwise.tokens.layouts.layout import A, B, C, Tokens

TENTHS = 10
NO_DIGIT = TENTHS + 1
"""The value where the first wrong token is not a digit of the answer: the end, or an intermediate step."""
LOW = 0.1
WEIGHTS_AT_ONCE = 1 << 25
"""Most attention weights in memory at once: an answer of a thousand digits has millions per head."""


@torch.no_grad()
def watch(
    model: GPT, ids: Tensor, positions: Tensor, tail: int | None = None
) -> tuple[Tensor, list[AttentionHeads]]:
    """The logits of a pass, and the attention heads of its layers in order. With `tail`, the last layer has only
    the last `tail` queries."""
    layers: dict[int, AttentionHeads] = {}

    def note(number: int, heads: AttentionHeads) -> None:
        layers[number] = layers[number].beside(heads) if number in layers else heads

    logits = model(ids, positions, tail=tail, on_attention=note)
    return logits, list(layers.values())


def sharpest(layers: Sequence[Tensor]) -> int:
    """The index of the layer, of weights [..., K], that attends to the fewest tokens: the one of least entropy.

    Weights may sum to less than one. A row counts in proportion to the sum of its weights, so that one that
    attends to no token counts little; and a layer with smaller weights is less sharp.
    """
    entropies = [-torch.xlogy(weights, weights).sum() / weights.sum() for weights in layers]
    return int(torch.stack(entropies).nan_to_num(nan=math.inf).argmin())


@dataclass(frozen=True)
class Anatomy:
    first_wrong: Tensor
    """int64 [M, N]: a tenth, from 1; NO_DIGIT; or 0 where nothing is wrong."""
    margin: Tensor
    """[M, N]"""
    sharpness: Tensor
    """[L, M, H]: the mean over answer digits of the largest weight."""
    on_column: Tensor
    """[L, M, H]: the mean over answer digits of the weight on the digits they need."""


def measure_anatomy(subject: Subject, rows: Sequence[Row]) -> Iterator[Record]:
    """Records of each row and member, against truth."""
    for row in rows:
        found = dissect(subject, row.problems.pair, row.truth)
        for k, make in enumerate(row_makers(subject.members, row.problems)):
            yield from _records(make, found, k)


@torch.no_grad()
def dissect(subject: Subject, problem: Pair, answers: Tensor) -> Anatomy:
    """The anatomy of problems [M, N, W] with their answers [M, N, A]."""
    parts = [_dissect_chunk(subject, a, b, c) for a, b, c in subject.chunks(*problem, answers)]
    first_wrong, margin, sharpness, on_column, digits = zip(*parts, strict=True)
    # Sums [L, M, H] over digits, whose number is [M].
    count = torch.stack(digits).sum(0).view(1, -1, 1)
    return Anatomy(
        torch.cat(first_wrong, 1),
        torch.cat(margin, 1),
        torch.stack(sharpness).sum(0) / count,
        torch.stack(on_column).sum(0) / count,
    )


def _dissect_chunk(subject: Subject, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    tokens, positions = subject.read(a, b, c)
    start, end = answer_span(tokens)
    read = slice(end - 1)
    # `build` refuses anatomy for models that do not show their attention.
    model = cast(GPT, subject.model)
    logits, layers = watch(model, tokens.ids[..., read], positions[..., read], tail=end - start)
    margin = margins(logits, tokens.ids[..., start:end])
    answer, is_digit = tokens.answer[..., start:end], tokens.number[..., start:end] == C
    looks = [_look(layer, tokens, start, end) for layer in layers]
    return (
        first_wrong_tenth((margin <= 0) & answer, is_digit),
        margin.masked_fill(~answer, torch.inf).amin(-1),
        torch.stack([sharp for sharp, _ in looks]),
        torch.stack([needed for _, needed in looks]),
        is_digit.sum((1, 2)),
    )


def margins(logits: Tensor, targets: Tensor) -> Tensor:
    """The logit of each target [M, N, S] minus the best other logit of [M, N, S, V]."""
    index = targets.unsqueeze(-1)
    return logits.gather(-1, index).squeeze(-1) - logits.scatter(-1, index, -torch.inf).amax(-1)


def first_wrong_tenth(wrong: Tensor, is_digit: Tensor) -> Tensor:
    """The tenth [M, N] of the first wrong digit, from masks [M, N, S] of wrong tokens and of answer digits.

    >>> wrong = torch.tensor([[[False, False, True, True], [False] * 4, [False, False, False, True]]])
    >>> first_wrong_tenth(wrong, torch.tensor([[[True, True, True, False]]]).expand_as(wrong))
    tensor([[ 7,  0, 11]])
    """
    first = wrong.long().argmax(-1, keepdim=True)
    before = is_digit.long().cumsum(-1).gather(-1, first) - 1
    tenth = before * TENTHS // is_digit.sum(-1, keepdim=True) + 1
    found = torch.where(is_digit.gather(-1, first), tenth, NO_DIGIT)
    return torch.where(wrong.any(-1, keepdim=True), found, 0).squeeze(-1)


def _look(layer: AttentionHeads, tokens: Tokens, start: int, end: int) -> tuple[Tensor, Tensor]:
    """Sums [M, H] over answer digits of the largest weight and of the weight on digits needed."""
    members, problems, _ = tokens.ids.shape
    sharp = torch.zeros(members, layer.heads, dtype=torch.float64, device=tokens.ids.device)
    needed = torch.zeros_like(sharp)
    size = max(1, WEIGHTS_AT_ONCE // (members * problems * layer.heads * end))
    for place in range(start, end, size):
        # The token at a position is written by the query of the position before.
        written = slice(place, min(place + size, end))
        skipped = end - 1 - layer.queries
        weights = layer.weights(written.start - 1 - skipped, written.stop - 1 - skipped)
        is_digit = (tokens.number[..., written] == C).unsqueeze(2)
        sharp += (weights.amax(-1) * is_digit).sum((1, 3))
        column = _needed(tokens, written).unsqueeze(2)
        needed += ((weights * column).sum(-1) * is_digit).sum((1, 3))
    return sharp, needed


def _needed(tokens: Tokens, written: slice) -> Tensor:
    """bool [M, N, Q, K]: the operand digits of each written digit's own column and of the column below."""
    keys = slice(written.stop - 1)
    number = tokens.number[..., keys].unsqueeze(-2)
    below = tokens.significance[..., written].unsqueeze(-1) - tokens.significance[..., keys].unsqueeze(-2)
    return ((number == A) | (number == B)) & ((below == 0) | (below == 1))


def _records(make: partial[Record], found: Anatomy, k: int) -> Iterator[Record]:
    counts = torch.bincount(found.first_wrong[k], minlength=NO_DIGIT + 1).tolist()
    wrong = sum(counts[1:])
    if wrong:
        for tenth in range(1, NO_DIGIT):
            yield make(metric=f"first_wrong_tenth:{tenth}", correct=counts[tenth], total=wrong)
        yield make(metric="wrong_end", correct=counts[NO_DIGIT], total=wrong)
    margin = found.margin[k].double()
    yield make(metric="margin_mean", value=margin.mean().item())
    yield make(metric="margin_low", value=margin.quantile(LOW).item())
    for name, layers in (("attention", found.sharpness), ("on_column", found.on_column)):
        for layer, heads in enumerate(layers[:, k].tolist(), start=1):
            for head, value in enumerate(heads, start=1):
                yield make(metric=f"{name}:{layer}:{head}", value=value)
