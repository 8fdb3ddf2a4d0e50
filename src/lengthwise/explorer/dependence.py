"""What an answer depends on: replace a digit of an operand, and see which tokens of the answer change."""

import time
from collections.abc import Iterator
from threading import Lock
from typing import NamedTuple

from torch import Tensor

from lengthwise.arithmetic import in_base
from lengthwise.evaluation.decode import after_prompt
from lengthwise.evaluation.failures import answer_tokens, decode
from lengthwise.evaluation.problems import Problems
from lengthwise.evaluation.score import Subject
from lengthwise.evaluation.strata import right_answers
from lengthwise.experiments.load import Run
from lengthwise.explorer.asking import Sheet
from lengthwise.explorer.bounds import LOOK_SECONDS
from lengthwise.explorer.refusal import RefusedError
from lengthwise.tokens.digits import from_ints

AT_ONCE = 64
"""Problems asked before others get their turn."""

MOST_TOKENS = 15_000
"""Tokens of the problems asked for one dependence, with their answers, written or scored in one pass; where digits
are many, fewer replacements are tried of each."""


class Cause(NamedTuple):
    """A digit of an operand, and the share of its replacements that change each token of the answer."""

    operand: str
    significance: int
    digit: str
    changes: list[float]


def dependence(problem: Sheet, pair: tuple[int, int], answer: list[int], computing: Lock) -> list[Cause]:
    """One cause for each digit of a and of b that is read, leading zeros included, the least significant first."""
    run, (a, b) = problem.run, pair
    places = [(name, significance - 1) for name, significance in sorted(filter(None, problem.operand_places))]
    each = max(1, MOST_TOKENS // (len(places) * (problem.prompt_length + len(answer))))
    variants = {place: _variants(run, a, b, place, each) for place in places}
    asked = [pair for pairs in variants.values() for pair in pairs]
    answers = _answers(run, asked, len(answer), computing)
    return [
        Cause(
            name,
            place + 1,
            _digit(run, a if name == "a" else b, place),
            _changed(answer, [next(answers) for _ in pairs]),
        )
        for (name, place), pairs in variants.items()
    ]


def _digit(run: Run, number: int, place: int) -> str:
    base = run.config.base
    return in_base(number // base**place % base, base)


def _variants(run: Run, a: int, b: int, place: tuple[str, int], most: int) -> list[tuple[int, int]]:
    """The problem with another digit at one place. Where lengths differ, no number gets shorter."""
    base, (name, i) = run.config.base, place
    number, unit = (a if name == "a" else b), run.config.base ** place[1]
    old = number // unit % base
    others = [digit for digit in range(base) if digit != old]
    leads = i and number < unit * base
    if leads and not run.parts.layout.fixed_width:
        others = [digit for digit in others if digit]
    # Spread over the digits there are.
    chosen = others if len(others) <= most else [others[k * len(others) // most] for k in range(most)]
    changed = [number + (digit - old) * unit for digit in chosen]
    return [(other, b) if name == "a" else (a, other) for other in changed]


def _answers(run: Run, pairs: list[tuple[int, int]], length: int, computing: Lock) -> Iterator[list[int]]:
    end = time.monotonic() + LOOK_SECONDS
    for start in range(0, len(pairs), AT_ONCE):
        if time.monotonic() > end:
            raise RefusedError(f"this model is too large for a look inside: allowed are {LOOK_SECONDS:g} s")
        with computing:
            answers = _written(run, pairs[start : start + AT_ONCE])
        yield from answers[:, :length].tolist()


def _written(run: Run, pairs: list[tuple[int, int]]) -> Tensor:
    """[N, S] One pass shows which answers are the truth; only others are written token by token."""
    parts, base, layout = run.parts, run.config.base, run.parts.layout
    a, b = (from_ints(list(numbers), layout.operand_width, base)[None] for numbers in zip(*pairs, strict=True))
    # Where there is no room for the truth, a part of it is as good a guess as any.
    room = base**layout.answer_width
    guess = from_ints([run.config.task_object(*pair) % room for pair in pairs], layout.answer_width, base)[None]
    subject = Subject(parts.model, layout, parts.encoding)
    wrong = ~right_answers(subject, Problems("replaced", a, b, "given"), guess)[0]
    guessed = layout.encode(a, b, guess).spread()
    answers = after_prompt(guessed.ids, guessed.prompt_length, answer_tokens(layout))
    if wrong.any():
        answers[:, wrong] = decode(parts.model, layout, parts.encoding, (a[:, wrong], b[:, wrong]))
    return answers[0]


def _changed(answer: list[int], others: list[list[int]]) -> list[float]:
    if not others:
        return [0.0] * len(answer)
    return [sum(other[i] != token for other in others) / len(others) for i, token in enumerate(answer)]
