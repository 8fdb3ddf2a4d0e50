"""One problem put to a model: its answer token by token, and the whole of what was read and written."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.evaluation.decode import Reading, write
from lengthwise.evaluation.failures import prepare
from lengthwise.experiments.load import Run
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts.places import A, B, C

ALTERNATIVES = 3
OPERANDS = {A: "a", B: "b"}


class Written(NamedTuple):
    """A token of an answer. `kind` is digit (of the answer), step (before it) or symbol."""

    token: int
    text: str
    kind: str
    probability: float
    alternatives: list[tuple[str, float]]
    """The likeliest tokens, this one among them."""


@dataclass(frozen=True)
class Sheet:
    """A problem as a model reads it, and where the tokens of its answer will stand."""

    run: Run
    reading: Reading
    digit_numbers: list[int]
    """For each place of the answer, the number that a digit there belongs to."""
    operand_places: list[tuple[str, int] | None]
    """For each token read, its number and significance, where it is a digit."""

    @property
    def prompt_length(self) -> int:
        return self.reading.prompt.shape[-1]

    def sequence(self, answer: list[int]) -> tuple[Tensor, Tensor]:
        """Ids and positions [1, 1, T] of prompt and answer."""
        ids = torch.cat([self.reading.prompt, torch.tensor([[answer]])], -1)
        positions = self.reading.positions[..., : ids.shape[-1]]
        symbols = self.reading.symbols
        if symbols is not None:
            positions = torch.where(ids < symbols.base, positions, symbols.positions[..., : ids.shape[-1]])
        return ids, positions


def sheet(run: Run, a: int, b: int) -> Sheet:
    layout, encoding, base = run.parts.layout, run.parts.encoding, run.config.base
    pair = tuple(from_ints([number], layout.operand_width, base)[None] for number in (a, b))
    reading = prepare(layout, encoding, (pair[0], pair[1]))
    largest = pair[0].new_full((1, 1, layout.answer_width), base - 1)
    tokens, read = layout.encode(pair[0], pair[1], largest).spread(), reading.prompt.shape[-1]
    numbers, significances = tokens.number[0, 0].tolist(), tokens.significance[0, 0].tolist()
    places = [
        (OPERANDS[number], significance) if number in OPERANDS else None
        for number, significance in zip(numbers[:read], significances[:read], strict=True)
    ]
    return Sheet(run, reading, numbers[read:], places)


def spell(problem: Sheet, computing: Lock) -> Iterator[Written]:
    """The answer as the model writes it, up to its [eos]."""
    vocabulary = problem.run.parts.layout.vocabulary
    steps = write(problem.run.parts.model, problem.reading)
    for place in range(problem.reading.steps):
        with computing:
            logits, _ = next(steps)
        probabilities = logits[0, 0, 0].softmax(-1)[: len(vocabulary)]
        shares, tokens = probabilities.topk(ALTERNATIVES)
        names = [vocabulary.texts[token] for token in tokens.tolist()]
        token = int(tokens[0])
        yield Written(
            token,
            names[0],
            _kind(token, vocabulary.base, problem.digit_numbers[place]),
            float(shares[0]),
            list(zip(names, shares.tolist(), strict=True)),
        )
        if token == vocabulary.eos:
            return


def _kind(token: int, base: int, number: int) -> str:
    if token >= base:
        return "symbol"
    return "step" if number > C else "digit"
