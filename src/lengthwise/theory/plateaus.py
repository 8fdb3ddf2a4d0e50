"""The exact accuracy of a model that knows only part of the answer, or only the last digits of the operands.

At best, such a model gives the answer that is most likely given what it knows; by chance, any of those that are
possible. During training, accuracy often stays for long where the best guess is: modulo 150, the factor 3 is
learned late.

>>> for plateau in plateaus(Task.parse("mul%150"), Domain.parse("D3"))[-3:]:
...     print(plateau.known, plateau.accuracy, plateau.by_chance)
answer mod 50 153/275 1/3
operands mod 10^2 153/275 1/3
answer mod 75 3/4 1/2
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.accuracy import accuracy_json
from lengthwise.theory.residues import (
    Residues,
    count_difference,
    count_differences,
    cut,
    divisors,
    len_big,
    negated,
    open_modulus,
)

MOST_RESIDUES = {"add": 20_000, "mul": 2_000}
MOST_STEPS = 300_000_000
MOST_DIGITS = 1_000
"""Up to these a domain takes seconds, or, with long operands in a mixture, a minute."""

Counts = npt.NDArray[Any]
"""Integers: int64 where they fit, Python's own where they do not."""


@dataclass(frozen=True, slots=True)
class Plateau:
    known: str
    accuracy: Fraction
    """With the best guess."""
    by_chance: Fraction
    """With a random guess among the answers that are possible."""

    def as_json(self) -> dict[str, Any]:
        return {"known": self.known, **accuracy_json(self.accuracy), "by_chance": str(self.by_chance)}


class Guesses:
    """Adds up how often guesses are right, each for something that may be known."""

    def __init__(self) -> None:
        self.best = 0
        self.totals: Counter[int] = Counter()
        """By the number of possible answers, the weight of all pairs that leave so many."""

    def add(self, best: Counts, totals: Counts, possible: Counts) -> None:
        """For each known thing: the weight of its likeliest answer and of all, and the number of possible ones."""
        self.best += int(best.astype(object).sum())
        for number in np.unique(possible[possible > 0]):
            self.totals[int(number)] += int(totals[possible == number].astype(object).sum())

    def plateau(self, known: str, denominator: int) -> Plateau:
        by_chance = sum((Fraction(total, number) for number, total in self.totals.items()), Fraction())
        return Plateau(known, Fraction(self.best, denominator), by_chance / denominator)


def plateaus(task: Task, domain: Domain) -> list[Plateau]:
    """One plateau for each part of the answer that can be known without the rest, sorted by accuracy.

    These are the answer modulo each proper divisor of p, and what follows from the last k digits of the operands,
    for each k below the length of the domain.
    """
    _check(task, domain)
    found = [knowing_operands(task, domain, k) for k in range(domain.length)]
    if task.modulus is not None:
        found[1:1] = [knowing_answer(task, domain, d) for d in divisors(task.modulus)[1:-1]]
    return sorted(found, key=lambda plateau: plateau.accuracy)


def _check(task: Task, domain: Domain) -> None:
    if task.operation not in MOST_RESIDUES or (task.modulus is None and not task.op.has_carries):
        raise InputError(f"plateaus are derived for sums and for residues of sums and products, not for {task}")
    if domain.length > MOST_DIGITS:
        raise InputError(f"plateaus are counted for operands of up to {MOST_DIGITS} digits, not for {domain}")
    too_large = task.modulus is not None and task.modulus > MOST_RESIDUES[task.operation]
    if too_large or (not task.op.has_carries and _steps(task, domain) > MOST_STEPS):
        raise InputError(f"the plateaus of {task} on {domain} would take too long; try a smaller modulus")


def _steps(task: Task, domain: Domain) -> int:
    """The number of counts that `knowing_operands` adds up, over all numbers of digits."""
    rectangles = sum(len(part.rectangles) for part in domain.parts)
    classes = [(open_modulus(task, k), task.base**k) for k in range(1, domain.length)]
    return rectangles * sum(min(modulus, unit) * modulus**2 for modulus, unit in classes)


def knowing_answer(task: Task, domain: Domain, divisor: int) -> Plateau:
    """The plateau of a model that knows the answer modulo a divisor of p, and guesses the rest.

    >>> str(knowing_answer(Task.parse("mul%150"), Domain.parse("D3"), 50).accuracy)
    '153/275'
    """
    assert task.modulus is not None and task.modulus % divisor == 0
    slices, denominator = _slices(domain, 0)
    ((_, _, tables),) = _outcomes(task, slices, 0)
    known = np.sum(tables, axis=0).reshape(-1, divisor).T  # a row for each residue that may be known
    guesses = Guesses()
    guesses.add(known.max(axis=1), known.sum(axis=1), np.count_nonzero(known, axis=1))
    return guesses.plateau(f"answer mod {divisor}", denominator)


def knowing_operands(task: Task, domain: Domain, digits: int) -> Plateau:
    """The plateau of a model that knows the last `digits` digits of both operands, and guesses the rest.

    >>> str(knowing_operands(Task.parse("mul%200"), Domain.parse("D3"), 2).accuracy)
    '83/132'
    """
    slices, denominator = _slices(domain, digits)
    # Low parts that are equal modulo this leave the same answers to guess; in a sum all low parts do.
    modulus = 1 if task.op.has_carries else open_modulus(task, digits)
    sizes, guesses = _class_sizes(slices, modulus), Guesses()
    for a_class, b_classes, tables in _outcomes(task, slices, digits):
        for members, sizes_of in sizes.items():
            known, often = np.sum([tables[place] for place in members], axis=0), sizes_of[a_class, b_classes]
            totals, possible = known.sum(axis=1), np.count_nonzero(known, axis=1)
            if task.modulus is None:  # a table of sums has only some of them
                totals, possible = _all_sums([slices[place] for place in members])
            guesses.add(known.max(axis=1).astype(object) * often, totals.astype(object) * often, possible)
    return guesses.plateau(f"operands mod {task.base}^{digits}" if digits else "nothing", denominator)


def _all_sums(slices: Sequence["_Slice"]) -> tuple[Counts, Counts]:
    """The total weight of all sums of high parts, and the number of different ones."""
    total = sum(one.weight * len_big(one.a_high) * len_big(one.b_high) for one in slices)
    starts_and_stops = sorted((a.start + b.start, a.stop + b.stop - 1) for _, _, a, b, _ in slices)
    number, end = 0, 0
    for start, stop in starts_and_stops:
        number += max(0, stop - max(start, end))
        end = max(end, stop)
    return np.array([total], dtype=object), np.array([number], dtype=object)


class _Slice(NamedTuple):
    """A rectangle of operand pairs, cut at a column into low parts that are known and high parts that are not.

    Each operand is either cut below its top digit, so that every low part occurs with every high part, or it is
    known completely and its high part is 0.
    """

    a_low: range
    b_low: range
    a_high: range
    b_high: range
    weight: int
    """The probability of each pair times the common denominator."""


def _slices(domain: Domain, digits: int) -> tuple[list[_Slice], int]:
    """The domain cut at the last digits of both operands, and the common denominator of all probabilities."""
    unit = domain.base**digits
    chances = [weight / part.size for weight, part in zip(domain.weights, domain.parts, strict=True)]
    denominator = lcm(*(chance.denominator for chance in chances))
    slices: list[_Slice] = []
    for chance, part in zip(chances, domain.parts, strict=True):
        for rows, columns in part.rectangles:
            (a_low, a_high), (b_low, b_high) = cut(rows, unit), cut(columns, unit)
            slices.append(_Slice(a_low, b_low, a_high, b_high, int(chance * denominator)))
    return slices, denominator


def _class_sizes(slices: Sequence[_Slice], modulus: int) -> dict[tuple[int, ...], Counts]:
    """How many pairs of low parts are in each pair of residue classes, by the slices that they may come from."""
    found: dict[tuple[int, ...], Counts] = {}
    a_cells, b_cells = _pieces([one.a_low for one in slices]), _pieces([one.b_low for one in slices])
    for a_cell, b_cell in product(a_cells, b_cells):
        inside = (a_cell.start in one.a_low and b_cell.start in one.b_low for one in slices)
        members = tuple(place for place, holds in enumerate(inside) if holds)
        if members:
            sizes = np.outer(Residues.of(a_cell, modulus).counts, Residues.of(b_cell, modulus).counts)
            found[members] = found.get(members, 0) + sizes
    return found


def _pieces(intervals: Sequence[range]) -> list[range]:
    """The intervals between neighbouring bounds."""
    bounds = sorted({bound for one in intervals for bound in (one.start, one.stop)})
    return [range(first, last) for first, last in pairwise(bounds)]


Outcomes = Iterator[tuple[int, Sequence[int], list[Counts]]]
"""The class of a's low part, some classes of b's, and for each slice a table with the total weight of all pairs of
high parts by the class of b's low part and the answer."""


def _outcomes(task: Task, slices: Sequence[_Slice], digits: int) -> Outcomes:
    if not task.op.has_carries:
        yield from _products(task, slices, digits)
        return
    highs = [(one.a_high, negated(one.b_high)) for one in slices]
    if task.modulus is None:
        # The number of pairs by sum rises by one, stays constant, and falls by one: over all slices the best guess
        # is a corner of one of them.
        sums = sorted({x - y for a, b in highs for x in (a.start, a.stop - 1) for y in (b.start, b.stop - 1)})
        counts = [[count_difference(a, b, total) for total in sums] for a, b in highs]
    else:
        rest = open_modulus(task, digits)
        counts = [[count_differences(a, b, residue, rest) for residue in range(rest)] for a, b in highs]
    yield 0, [0], [one.weight * np.array([row], dtype=object) for one, row in zip(slices, counts, strict=True)]


def _products(task: Task, slices: Sequence[_Slice], digits: int) -> Outcomes:
    """With N = base^k, g = gcd(p, N) and q = p / g, write a = A N + a0 and b = B N + b0.

    Given a0 and b0 the product modulo p is one of q residues, a0 b0 + g c. It depends on a0, b0, A and B modulo
    q alone. For each a0 one matrix says which A lead from b (by its residue modulo p) to which c, another which
    B lead from b0 to b; their product counts pairs. Two b0 that are equal modulo g lead to the same residues b.
    """
    assert task.modulus is not None
    unit: int = task.base**digits
    p, q = task.modulus, open_modulus(task, digits)
    g = p // q
    steps = np.arange(q, dtype=np.int64)
    heaviest = sum(one.weight * len_big(one.a_high) * len_big(one.b_high) for one in slices)
    integers = np.int64 if heaviest < 2**62 else object
    for a0 in range(min(q, unit)):
        for first in range(min(g, q, unit)):
            b0 = range(first, min(q, unit), g)
            a = (a0 + unit % p * steps) % p  # by A
            b = first + g * steps  # all that b may be
            c = (np.outer(b, a) - a0 * first) // g % q
            places = (np.array(b0)[:, None] + unit % p * steps - first) % p // g  # by b0 and B: which of b it is
            yield a0, b0, [one.weight * _count_pairs(c, places, one, integers) for one in slices]


def _count_pairs(c: Counts, places: Counts, one: _Slice, integers: Any) -> Counts:
    """Counts by b0 and c. Each residue of a high part occurs equally often, some once more. The matrices hold
    small numbers that floats represent exactly; their factors are integers of any size."""
    q = len(c)
    a, b = Residues.of(one.a_high, q), Residues.of(one.b_high, q)
    b_rest = np.zeros((len(places), q))
    b_rest[np.arange(len(places))[:, None], places[:, b.once_more]] = 1

    def with_each_b(c: Counts) -> Counts:
        entries = np.arange(q, dtype=np.int64)[:, None] * q + c
        led = np.bincount(entries.ravel(), minlength=q * q).reshape(q, q)  # how many A lead from b to c
        rest = (b_rest @ led.astype(np.float64)).astype(np.int64).astype(integers)
        return b.often * led.sum(axis=0).astype(integers) + rest

    some = with_each_b(c[:, a.once_more])
    return some + a.often * with_each_b(c) if a.often else some
