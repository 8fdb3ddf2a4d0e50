"""The digits that a model writes, place by place, whatever else it writes.

Shapes: M members, N problems, W operand digits, A answer digits, S tokens of the longest answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.evaluation.failures import Pair, decode
from lengthwise.evaluation.seen import MeasuredMember
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import Encoding
from lengthwise.tokens.layouts import C, Layout

DECODED_ROWS = {"cuda": 1 << 14, "cpu": 1 << 10}
"""Problems of all members decoded at once: enough to fill a GPU, few enough for its memory."""


@dataclass(frozen=True)
class Probed:
    """A stack as a probe sees it: what it writes, and who its members are."""

    write: Callable[[Pair], Tensor]
    """Digits [M, N, A], lowest first, of the answers to problems [M, N, W]."""
    members: Sequence[MeasuredMember]
    operand_width: int
    answer_width: int
    device: torch.device


def written_digits(model: GPT, layout: Layout, encoding: Encoding, problem: Pair) -> Tensor:
    """Digits [M, N, A] of the decoded answers to problems [M, N, W]."""
    operand = problem[0]
    chunk = max(1, DECODED_ROWS[operand.device.type] // len(operand))
    return read_digits(decode(model, layout, encoding, problem, chunk), layout)


def read_digits(answers: Tensor, layout: Layout) -> Tensor:
    """The digits [..., A] in answers [..., S].

    An answer ends at the first token that is no digit; digits that it does not have are 0, as in a number.
    """
    start, highest_first = _answer_form(layout)
    tokens = answers[..., start : start + layout.answer_width]
    length = (tokens < layout.vocabulary.base).long().cumprod(-1).sum(-1, keepdim=True)
    place = torch.arange(layout.answer_width, device=answers.device).expand_as(tokens)
    digits = tokens.gather(-1, (length - 1 - place).clamp(min=0)) if highest_first else tokens
    return torch.where(place < length, digits, 0)


def _answer_form(layout: Layout) -> tuple[int, bool]:
    """How many tokens stand between = and the answer's digits, and whether the highest digit comes first."""
    number = torch.full((layout.answer_width,), layout.vocabulary.base - 1, dtype=torch.int8)
    tokens = layout.encode(number[:1], number[:1], number).spread()
    after = slice(int(tokens.prompt_length), None)
    is_answer = tokens.number[after] == C
    first = int(is_answer.nonzero()[0])
    return first, bool(tokens.significance[after][first] == layout.answer_width > 1)
