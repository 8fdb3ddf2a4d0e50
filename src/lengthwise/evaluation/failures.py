"""How decoded answers fail: malformed, of the wrong length, or wrong from some digit on.

Shapes: M members, N problems, W operand digits, A answer digits, S tokens of the longest answer.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.evaluation.decode import Reading, SymbolPositions, after_prompt, greedy
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import Encoding, number_tokens
from lengthwise.tokens.layouts import C, Layout, Vocabulary

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Decoded:
    """Answers as the model wrote them, and what is wrong with each. Exactly one of four holds."""

    tokens: Tensor
    """[M, N, S]"""
    exact: Tensor
    malformed: Tensor
    """Something else than digits and then the end; or intermediate steps that do not have their form."""
    wrong_length: Tensor
    """Digits and then the end, too early or too late."""
    first_wrong: Tensor
    """The significance of the first wrong digit of a well-formed answer, as written; else 0."""


@torch.no_grad()
def decode(model: GPT, layout: Layout, encoding: Encoding, problem: Pair, chunk: int = 2_000) -> Tensor:
    """Greedy answers [M, N, S] to problems [M, N, W]."""
    chunks = zip(*(operand.split(chunk, dim=1) for operand in problem), strict=True)
    return torch.cat([_decode_chunk(model, layout, encoding, pair) for pair in chunks], dim=1)


def _decode_chunk(model: GPT, layout: Layout, encoding: Encoding, pair: Pair) -> Tensor:
    return greedy(model, **prepare(layout, encoding, pair)._asdict(), end=layout.vocabulary.eos)


def prepare(layout: Layout, encoding: Encoding, pair: Pair) -> Reading:
    """Problems as a model reads them, with room for the longest answer.

    What is known of a written token follows from its place and from whether it is a digit, so that an answer
    of digits throughout and the shortest one show all there is to know before it is written.
    """
    base, blank = layout.vocabulary.base, pair[0].new_zeros(*pair[0].shape[:2], layout.answer_width)
    longest, shortest = (layout.encode(*pair, answer) for answer in (blank + base - 1, blank))
    digits, symbols = (
        number_tokens(encoding, tokens.significance, tokens.number) for tokens in (longest, shortest)
    )
    tokens, steps = longest.spread(), answer_tokens(layout)
    end = int(tokens.prompt_length.max())
    places = slice(end + steps)
    return Reading(
        tokens.ids[..., :end],
        digits[..., places],
        steps,
        tokens.prompt_length,
        None if torch.equal(digits, symbols) else SymbolPositions(base, symbols[..., places]),
    )


def answer_tokens(layout: Layout) -> int:
    """S, the tokens of the longest answer."""
    number = torch.full((layout.answer_width,), layout.vocabulary.base - 1, dtype=torch.int8)
    return int(layout.encode(number[:1], number[:1], number).answer.sum())


def split_failures(answers: Tensor, layout: Layout, problem: Pair, reference: Tensor) -> Decoded:
    """Sort answers [M, N, S] by how they differ from the reference's digits [M, N, A]."""
    target = layout.encode(*problem, reference).spread()
    wanted, number, significance, belongs = (
        after_prompt(part, target.prompt_length, answers.shape[-1])
        for part in (target.ids, target.number, target.significance, target.answer)
    )
    is_answer = number == C
    closed, length = _form(answers, wanted, _first(is_answer), layout.vocabulary)
    wrong_length = closed & (length != is_answer.sum(-1))
    whole = closed & ~wrong_length
    differs = (answers != wanted) & belongs
    exact = whole & ~differs.any(-1)
    first = _first(differs).clamp(max=answers.shape[-1] - 1).unsqueeze(-1)
    first_wrong = torch.where(whole & ~exact, significance.gather(-1, first).squeeze(-1), 0)
    return Decoded(answers, exact, ~closed, wrong_length, first_wrong)


def _form(answers: Tensor, wanted: Tensor, start: Tensor, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Whether answers are digits and then the end, after steps up to `start` [M, N] of the form that is
    wanted; and how many digits there are."""
    place = torch.arange(answers.shape[-1], device=answers.device)
    in_steps, is_digit = place < start.unsqueeze(-1), answers < vocabulary.base
    fits = torch.where(wanted < vocabulary.base, is_digit, answers == wanted)
    other = _first(~is_digit & ~in_steps).unsqueeze(-1)
    ended = ((place == other) & (answers == vocabulary.end)).any(-1)
    # What follows the end must be [eos], as far as it was decoded.
    goes_on = ((place == other + 1) & (answers != vocabulary.eos)).any(-1)
    return (fits | ~in_steps).all(-1) & ended & ~goes_on, other.squeeze(-1) - start


def _first(mask: Tensor) -> Tensor:
    """The first place where a mask [..., S] holds, or S."""
    place = torch.arange(mask.shape[-1], device=mask.device)
    return torch.where(mask, place, mask.shape[-1]).amin(-1)
