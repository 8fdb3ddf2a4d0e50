"""Greedy decoding, token by token, and a classification of wrong answers.

>>> from lengthwise.model.config import ModelConfig
>>> from lengthwise.model.gpt import GPT
>>> model = GPT(ModelConfig.named("nano"), "learned", vocabulary=16, positions_count=8, seeds=[1]).eval()
>>> prompt = torch.tensor([[[13, 1, 10, 2, 11]]])  # one member, one problem, five tokens: [bos]1+2=
>>> reading = Reading(prompt, torch.arange(8).view(1, 1, 8), steps=3, lengths=torch.tensor([[5]]))
>>> greedy(model, reading).shape
torch.Size([1, 1, 3])

Shapes: M members, N problems, P tokens of the longest prompt, W operand digits, A answer digits, S tokens of the
longest answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.evaluation.problems import Model, Pair, Subject
from lengthwise.tokens.layouts.layout import C, Layout, Tokens, Vocabulary

NO_TOKEN = -1

LOOK_EVERY = 16
"""Tokens between checks whether all answers have ended: a check waits for the device."""

DECODED_ROWS = {"cuda": 1 << 14, "cpu": 1 << 10}
"""Problems of all members decoded together: enough to fill a GPU, few enough for its memory."""


class Reading(NamedTuple):
    """Prompts, and the positions of prompt and answer.

    prompt is [M, N, P], of which the first `lengths` [M, N] tokens belong to each problem; positions are those of
    prompt and answer, [M or 1, N or 1, P + steps]. If a digit and another token at the same index differ in
    position, `symbols` has the positions of the others, whose ids are `base` and above.
    """

    prompt: Tensor
    positions: Tensor
    steps: int
    lengths: Tensor
    symbols: Tensor | None = None
    base: int = 0

    def after(self, ids: Tensor, written: int) -> "Reading":
        """The reading after the first `written` tokens of each answer, taken from ids [M, N, P + steps]."""
        prompt = ids[..., : self.prompt.shape[-1] + written]
        return self._replace(prompt=prompt, steps=self.steps - written, lengths=self.lengths + written)

    def positions_of(self, ids: Tensor, start: int = 0) -> Tensor:
        """The positions of tokens [M, N, T] that begin at index `start`."""
        places = slice(start, start + ids.shape[-1])
        positions = self.positions[..., places]
        if self.symbols is None:
            return positions
        return torch.where(ids < self.base, positions, self.symbols[..., places])


def greedy(model: Model, reading: Reading, end: int = NO_TOKEN) -> Tensor:
    """The most likely next tokens, one after another: ids [M, N, steps].

    Decoding stops when all answers contain the token `end`, which no prompt does; the rest is filled with it.
    """
    lengths, tokens = reading.lengths, [_common_prompt(reading)]
    ended = torch.zeros_like(lengths, dtype=torch.bool)
    for number, (_, ids) in enumerate(write(model, reading), start=1):
        tokens.append(ids)
        ended |= ids.squeeze(-1) == end
        if number % LOOK_EVERY == 0 and ended.all():
            break
    missing = int(lengths.max()) + reading.steps - sum(part.shape[-1] for part in tokens)
    whole = functional.pad(torch.cat(tokens, dim=-1), (0, missing), value=end)
    return after_prompt(whole, lengths, reading.steps)


@torch.no_grad()
def write(model: Model, reading: Reading) -> Iterator[tuple[Tensor, Tensor]]:
    """Read the prompts and write answers: logits [M, N, 1, V] and the chosen token [M, N, 1], step by step.

    Prompts of different lengths start together; longer ones read their remaining tokens instead of writing.
    """
    assert not model.training, "decoding is for a model in evaluation mode"
    prompt, steps, lengths, length = reading.prompt, reading.steps, reading.lengths, reading.positions.shape[-1]
    assert steps >= 1 and length == prompt.shape[-1] + steps
    cache = model.cache(batch=prompt.shape[1], length=length)
    ids, start = _common_prompt(reading), 0
    for end in range(ids.shape[-1], int(lengths.max()) + steps):
        logits = model(ids, reading.positions_of(ids, start), tail=1, cache=cache)
        ids = logits.argmax(-1)
        if end < prompt.shape[-1]:
            ids = torch.where((end < lengths).unsqueeze(-1), prompt[..., end : end + 1], ids)
        yield logits, ids
        start = end


def _common_prompt(reading: Reading) -> Tensor:
    """The first tokens of all prompts, as many as the shortest has."""
    return reading.prompt[..., : int(reading.lengths.min())]


def after_prompt(tokens: Tensor, lengths: Tensor, steps: int) -> Tensor:
    """The `steps` tokens [M, N, steps] of [M, N, T] that follow prompts of lengths [M, N]."""
    places = lengths.unsqueeze(-1) + torch.arange(steps, device=tokens.device)
    return tokens.gather(-1, places)


@torch.no_grad()
def decode(subject: Subject, problem: Pair) -> Tensor:
    """Greedy answers [M, N, S] to problems [M, N, W]."""
    chunk = max(1, DECODED_ROWS[problem[0].device.type] // len(problem[0]))
    chunks = zip(*(operand.split(chunk, dim=1) for operand in problem), strict=True)
    end = subject.layout.vocabulary.eos
    return torch.cat([greedy(subject.model, prepare(subject, pair), end) for pair in chunks], dim=1)


@torch.no_grad()
def decode_from(subject: Subject, problem: Pair, draft: Tensor) -> Tensor:
    """The same as `decode`, faster where answers begin like a draft [M, N, A] (speculative decoding).

    One pass reads problem and draft. Up to the first token that the model would not have written, the answer is
    the draft; from there on it is decoded. An answer is filled with its end token.
    """
    return torch.cat([_continued(subject, (a, b), c) for a, b, c in subject.chunks(*problem, draft)], dim=1)


def _continued(subject: Subject, pair: Pair, draft: Tensor) -> Tensor:
    reading, end = prepare(subject, pair), subject.layout.vocabulary.eos
    places, start = reading.positions.shape[-1], int(reading.lengths.min())
    ids = functional.pad(subject.layout.encode(*pair, draft).ids, (0, reading.steps), value=end)[..., :places]
    guess = after_prompt(ids, reading.lengths, reading.steps)
    in_answer = (guess == end).cumsum(-1) - (guess == end).long() == 0  # up to its end
    last = int((reading.lengths + in_answer.sum(-1)).max())  # no token after the longest guess matters
    logits = subject.model(ids[..., : last - 1], reading.positions_of(ids[..., : last - 1]), tail=last - start)
    written = functional.pad(logits.argmax(-1), (start, places - last))
    told = after_prompt(written, reading.lengths, reading.steps)
    agreed = int(_first((guess != told) & in_answer).min())
    if agreed == reading.steps:
        return guess
    return torch.cat([guess[..., :agreed], greedy(subject.model, reading.after(ids, agreed), end)], dim=-1)


def prepare(subject: Subject, pair: Pair) -> Reading:
    """Problems as a model reads them, with room for the longest answer.

    The position of a written token depends only on its index and on whether it is a digit, so the longest answer
    and the shortest one give all positions in advance.
    """
    base = subject.layout.vocabulary.base
    shortest = pair[0].new_zeros(*pair[0].shape[:2], subject.layout.answer_width)
    tokens, digits = subject.read(*pair, shortest + base - 1)
    _, symbols = subject.read(*pair, shortest)
    steps = answer_tokens(subject.layout)
    end = int(tokens.prompt_length.max())
    places = slice(end + steps)
    return Reading(
        tokens.ids[..., :end],
        digits[..., places],
        steps,
        tokens.prompt_length,
        None if torch.equal(digits, symbols) else symbols[..., places],
        base,
    )


def answer_tokens(layout: Layout) -> int:
    """S, the number of tokens of the longest answer."""
    return int(_longest_answer(layout).answer.sum())


def _longest_answer(layout: Layout) -> Tokens:
    number = torch.full((layout.answer_width,), layout.vocabulary.base - 1, dtype=torch.int8)
    return layout.encode(number[:1], number[:1], number).spread()


def written_digits(subject: Subject, problem: Pair) -> Tensor:
    """Digits [M, N, A] of the decoded answers to problems [M, N, W], lowest first."""
    return read_digits(decode(subject, problem), subject.layout)


def read_digits(answers: Tensor, layout: Layout) -> Tensor:
    """The digits [..., A] in answers [..., S].

    An answer ends at the first token that is not a digit; missing digits are 0.
    """
    longest = _longest_answer(layout)
    after = slice(int(longest.prompt_length), None)
    start = int((longest.number[after] == C).nonzero()[0])
    highest_first = bool(longest.significance[after][start] == layout.answer_width > 1)
    tokens = answers[..., start : start + layout.answer_width]
    length = (tokens < layout.vocabulary.base).long().cumprod(-1).sum(-1, keepdim=True)
    place = torch.arange(layout.answer_width, device=answers.device).expand_as(tokens)
    digits = tokens.gather(-1, (length - 1 - place).clamp(min=0)) if highest_first else tokens
    return torch.where(place < length, digits, 0)


@dataclass(frozen=True)
class Decoded:
    """How each answer [M, N] is right or wrong. Exactly one of the four holds."""

    exact: Tensor
    malformed: Tensor
    """Not digits followed by the end; or intermediate steps of the wrong form."""
    wrong_length: Tensor
    """Digits followed by the end, too early or too late."""
    first_wrong: Tensor
    """The significance of the first wrong digit written in a well-formed answer; else 0."""


def split_failures(answers: Tensor, layout: Layout, problem: Pair, reference: Tensor) -> Decoded:
    """Classify answers [M, N, S] by how they differ from the reference's digits [M, N, A]."""
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
    return Decoded(exact, ~closed, wrong_length, first_wrong)


def _form(answers: Tensor, wanted: Tensor, start: Tensor, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Whether answers are digits followed by the end, after steps of the right form up to `start` [M, N]; and the
    number of digits."""
    place = torch.arange(answers.shape[-1], device=answers.device)
    in_steps, is_digit = place < start.unsqueeze(-1), answers < vocabulary.base
    fits = torch.where(wanted < vocabulary.base, is_digit, answers == wanted)
    other = _first(~is_digit & ~in_steps).unsqueeze(-1)
    ended = ((place == other) & (answers == vocabulary.end)).any(-1)
    # The end must be followed by [eos], if that was decoded.
    goes_on = ((place == other + 1) & (answers != vocabulary.eos)).any(-1)
    return (fits | ~in_steps).all(-1) & ended & ~goes_on, other.squeeze(-1) - start


def _first(mask: Tensor) -> Tensor:
    """The first index where a mask [..., S] holds, or S."""
    place = torch.arange(mask.shape[-1], device=mask.device)
    return torch.where(mask, place, mask.shape[-1]).amin(-1)
