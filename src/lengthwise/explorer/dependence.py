"""What an answer depends on: replace a digit of an operand, and see which tokens of the answer change."""

import time
from collections.abc import Iterator
from threading import Lock
from typing import NamedTuple

from lengthwise.arithmetic import digit_count, in_base
from lengthwise.evaluation.failures import decode
from lengthwise.experiments.load import Run
from lengthwise.explorer.asking import Sheet
from lengthwise.explorer.bounds import LOOK_SECONDS
from lengthwise.explorer.refusal import RefusedError
from lengthwise.tokens.digits import from_ints

AT_ONCE = 64
"""Problems asked before others get their turn."""

MOST_TOKENS = 15_000
"""Tokens written for one problem's dependence; where digits are many, fewer replacements are tried of each."""


class Cause(NamedTuple):
    """A digit of an operand, and the share of its replacements that change each token of the answer."""

    operand: str
    significance: int
    digit: str
    changes: list[float]


def dependence(problem: Sheet, pair: tuple[int, int], answer: list[int], computing: Lock) -> list[Cause]:
    """One cause for each digit of a and of b that the model reads, the least significant first."""
    run, (a, b) = problem.run, pair
    places = [
        (name, place) for name, digits in zip("ab", _digits_read(run, a, b), strict=True) for place in digits
    ]
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


def _digits_read(run: Run, a: int, b: int) -> tuple[range, range]:
    """All places where a layout has fixed widths, leading zeros included; else those of the number's digits."""
    layout, base = run.parts.layout, run.config.base
    if layout.fixed_width:
        return range(layout.operand_width), range(layout.operand_width)
    return range(digit_count(a, base)), range(digit_count(b, base))


def _variants(run: Run, a: int, b: int, place: tuple[str, int], most: int) -> list[tuple[int, int]]:
    """The problem with another digit at one place. Where lengths differ, a number keeps its own."""
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
    width, base, end = run.parts.layout.operand_width, run.config.base, time.monotonic() + LOOK_SECONDS
    for start in range(0, len(pairs), AT_ONCE):
        if time.monotonic() > end:
            raise RefusedError(f"this model is too large for a look inside: allowed are {LOOK_SECONDS:g} s")
        chunk = zip(*pairs[start : start + AT_ONCE], strict=True)
        a, b = (from_ints(list(numbers), width, base)[None] for numbers in chunk)
        with computing:
            (answers,) = decode(run.parts.model, run.parts.layout, run.parts.encoding, (a, b))
        yield from answers[:, :length].tolist()


def _changed(answer: list[int], others: list[list[int]]) -> list[float]:
    if not others:
        return [0.0] * len(answer)
    return [sum(other[i] != token for other in others) / len(others) for i, token in enumerate(answer)]
