"""How decoded answers fail: malformed, of the wrong length, or wrong from some digit on.

Shapes: M members, N problems, A answer digits, S = A + 2 answer tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.evaluation.decode import greedy
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import Encoding, number_tokens
from lengthwise.tokens.layouts import Layout


@dataclass(frozen=True)
class Decoded:
    """Answers as the model wrote them, and what is wrong with each. Exactly one of four holds."""

    tokens: Tensor
    """[M, N, S]"""
    exact: Tensor
    malformed: Tensor
    """Something else than digits and then the end."""
    wrong_length: Tensor
    """Digits and then the end, too early or too late."""
    first_wrong: Tensor
    """1, 2, ... for a well-formed answer whose first wrong digit this is; else 0."""


@torch.no_grad()
def decode(
    model: GPT, layout: Layout, encoding: Encoding, problem: tuple[Tensor, Tensor], chunk: int = 2_000
) -> Tensor:
    """Greedy answers [M, N, S] to problems [M, N, W]."""
    a, b = problem
    blank = torch.zeros(*a.shape[:2], layout.answer_width, dtype=a.dtype, device=a.device)
    tokens = layout.encode(a, b, blank)
    assert isinstance(tokens.prompt_length, int)
    positions = number_tokens(encoding, tokens.significance, tokens.number)
    prompts = tokens.ids[..., : tokens.prompt_length]
    steps = tokens.ids.shape[-1] - tokens.prompt_length
    answers = [greedy(model, prompt, positions, steps) for prompt in prompts.split(chunk, dim=1)]
    return torch.cat(answers, dim=1)


def split_failures(answers: Tensor, reference: Tensor, layout: Layout) -> Decoded:
    """Sort answers [M, N, S] by how they differ from the reference's digits [M, N, A]."""
    digits, end = reference.shape[-1], layout.vocabulary.end
    place = torch.arange(answers.shape[-1], device=answers.device)
    is_digit = answers < layout.vocabulary.base
    first_other = torch.where(is_digit, len(place), place).amin(-1)
    ended = (answers == end) & (place == first_other.unsqueeze(-1))
    closed = ended.any(-1)
    # What follows the end must be [eos], as far as it was decoded.
    after = place == first_other.unsqueeze(-1) + 1
    closed &= ~(after & (answers != layout.vocabulary.eos)).any(-1)
    wrong_length = closed & (first_other != digits)
    whole = closed & ~wrong_length
    differs = answers[..., :digits] != reference
    first = torch.where(differs, place[:digits], digits).amin(-1)
    exact = whole & (first == digits)
    first_wrong = torch.where(whole & ~exact, first + 1, 0)
    return Decoded(answers, exact, ~closed, wrong_length, first_wrong)
