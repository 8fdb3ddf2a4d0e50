"""How often a model is right that knows only part of an answer, or sees only part of the operands: exactly.

Such a model gives the answer that is most likely given what it knows. While training goes on, accuracy often
stands still at one of these heights: modulo 150, it takes long to learn the factor 3.

>>> for plateau in plateaus(Task.parse("mul%150"), Domain.parse("D3"))[-3:]:
...     print(plateau.known, plateau.accuracy)
answer mod 50 153/275
operands mod 10^2 153/275
answer mod 75 3/4
"""

from collections import defaultdict
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

    def as_json(self) -> dict[str, Any]:
        return {"known": self.known, **accuracy_json(self.accuracy)}


def plateaus(task: Task, domain: Domain) -> list[Plateau]:
    """One for each part of an answer that can be known apart, from the lowest accuracy to the highest.

    These are the answer modulo each proper divisor of p, and what the last k digits of the operands tell, for
    each k below the length of the domain.
    """
    _check(task, domain)
    found = [Plateau("nothing", knowing_operands(task, domain, 0))]
    if task.modulus is not None:
        proper = divisors(task.modulus)[1:-1]
        found += [Plateau(f"answer mod {d}", knowing_answer(task, domain, d)) for d in proper]
    found += [
        Plateau(f"operands mod {task.base}^{k}", knowing_operands(task, domain, k))
        for k in range(1, domain.length)
    ]
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
    """How many counts of products `knowing_operands` adds up, for all numbers of digits."""
    rectangles = sum(len(part.rectangles) for part in domain.parts)
    classes = [(open_modulus(task, k), task.base**k) for k in range(1, domain.length)]
    return rectangles * sum(min(modulus, unit) * modulus**2 for modulus, unit in classes)


def knowing_answer(task: Task, domain: Domain, divisor: int) -> Fraction:
    """The accuracy of a model that knows the answer modulo a divisor of p, and guesses the rest.

    >>> knowing_answer(Task.parse("mul%150"), Domain.parse("D3"), 50)
    Fraction(153, 275)
    """
    assert task.modulus is not None and task.modulus % divisor == 0
    sight = _Sight.of(domain, 0)
    ((_, _, tables),) = _outcomes(task, sight)
    answers = _weigh(sight, range(len(sight.slices)), tables)[0]
    known = answers.reshape(-1, divisor).T  # a row for each residue that may be known
    return Fraction(_best_guesses(known, np.ones(divisor, dtype=object)), sight.denominator)


def knowing_operands(task: Task, domain: Domain, digits: int) -> Fraction:
    """The accuracy of a model that knows the last `digits` digits of both operands, and guesses the rest.

    >>> knowing_operands(Task.parse("mul%200"), Domain.parse("D3"), 2)
    Fraction(83, 132)
    """
    sight = _Sight.of(domain, digits)
    # Low parts that are equal modulo this leave the same to be guessed: in a sum all do.
    modulus = 1 if task.op.has_carries else open_modulus(task, digits)
    shared = {members: _class_sizes(cells, modulus) for members, cells in sight.cells().items()}
    right = sum(
        _best_guesses(_weigh(sight, members, tables), sizes[a_class, b_classes])
        for a_class, b_classes, tables in _outcomes(task, sight)
        for members, sizes in shared.items()
    )
    return Fraction(right, sight.denominator)


class _Slice(NamedTuple):
    """A rectangle of operand pairs, cut at a column: low parts that are seen, high parts that are not.

    Each operand is either cut below its top digit, so that every low part occurs with every high part; or it
    is seen whole, and its high part is 0.
    """

    a_low: range
    b_low: range
    a_high: range
    b_high: range
    weight: int
    """Of each pair, in units of one over the denominator."""

    @property
    def hidden_pairs(self) -> int:
        return len_big(self.a_high) * len_big(self.b_high)


@dataclass(frozen=True, slots=True)
class _Sight:
    """A domain as seen by who reads the last digits of both operands."""

    slices: tuple[_Slice, ...]
    digits: int
    denominator: int

    @classmethod
    def of(cls, domain: Domain, digits: int) -> "_Sight":
        unit = domain.base**digits
        chances = [weight / part.size for weight, part in zip(domain.weights, domain.parts, strict=True)]
        denominator = lcm(*(chance.denominator for chance in chances))
        slices: list[_Slice] = []
        for chance, part in zip(chances, domain.parts, strict=True):
            for rows, columns in part.rectangles:
                (a_low, a_high), (b_low, b_high) = cut(rows, unit), cut(columns, unit)
                slices.append(_Slice(a_low, b_low, a_high, b_high, int(chance * denominator)))
        return cls(tuple(slices), digits, denominator)

    def cells(self) -> dict[tuple[int, ...], list[tuple[range, range]]]:
        """The pairs of low parts, as disjoint rectangles, by the slices that they may come from."""
        found: dict[tuple[int, ...], list[tuple[range, range]]] = defaultdict(list)
        a_cells, b_cells = _pieces([s.a_low for s in self.slices]), _pieces([s.b_low for s in self.slices])
        for a_cell, b_cell in product(a_cells, b_cells):
            inside = (a_cell.start in one.a_low and b_cell.start in one.b_low for one in self.slices)
            members = tuple(place for place, holds in enumerate(inside) if holds)
            if members:
                found[members].append((a_cell, b_cell))
        return found


def _pieces(intervals: Sequence[range]) -> list[range]:
    """The intervals between neighbouring bounds."""
    bounds = sorted({bound for one in intervals for bound in (one.start, one.stop)})
    return [range(first, last) for first, last in pairwise(bounds)]


def _class_sizes(cells: Sequence[tuple[range, range]], modulus: int) -> Counts:
    """How many pairs of low parts are in each pair of residue classes."""
    sizes = np.zeros((modulus, modulus), dtype=object)
    for a_cell, b_cell in cells:
        sizes += np.outer(_residue_counts(a_cell, modulus), _residue_counts(b_cell, modulus))
    return sizes


def _residue_counts(interval: range, modulus: int) -> Counts:
    residues = Residues.of(interval, modulus)
    counts = np.full(modulus, residues.often, dtype=object)
    counts[residues.once_more] += 1
    return counts


def _weigh(sight: _Sight, members: Sequence[int], tables: Sequence[Counts]) -> Counts:
    """How likely each answer is, where these slices are possible: a row for each class."""
    kind = _integers(sum(one.weight * one.hidden_pairs for one in sight.slices))
    return np.sum([sight.slices[place].weight * tables[place].astype(kind) for place in members], axis=0)


def _integers(largest: int) -> Any:
    """The type of array entries that holds integers of this size."""
    return np.int64 if largest < 2**62 else object


def _best_guesses(likely: Counts, sizes: Counts) -> int:
    """How often the best guess is right: a row for each thing known, a column for each answer that it leaves;
    `sizes` says how often each is known."""
    return int((likely.max(axis=1).astype(object) * sizes).sum())


Outcomes = Iterator[tuple[int, Sequence[int], list[Counts]]]
"""The class of a's low part, some classes of b's, and for each slice a table: by the class of b's low part, how
many pairs of high parts lead to each answer."""


def _outcomes(task: Task, sight: _Sight) -> Outcomes:
    if not task.op.has_carries:
        return _products(task, sight)
    table = _residue_sums if task.modulus is not None else _sums
    return iter([(0, [0], table(task, sight))])


def _sums(task: Task, sight: _Sight) -> list[Counts]:
    """Without a modulus the best guess is a sum of high parts where one of the counts has a corner: each grows
    by one with the sum, stands still, and falls by one."""
    highs = [(one.a_high, one.b_high) for one in sight.slices]
    bounds = (product((a.start, a.stop - 1), (b.start, b.stop - 1)) for a, b in highs)
    sums = sorted({a + b for pairs in bounds for a, b in pairs})
    return [np.array([[count_difference(a, negated(b), total) for total in sums]], dtype=object) for a, b in highs]


def _residue_sums(task: Task, sight: _Sight) -> list[Counts]:
    rest = open_modulus(task, sight.digits)
    highs = [(one.a_high, negated(one.b_high)) for one in sight.slices]
    return [np.array([[count_differences(a, b, r, rest) for r in range(rest)]], dtype=object) for a, b in highs]


def _products(task: Task, sight: _Sight) -> Outcomes:
    """With N = base^k, g = gcd(p, N) and q = p / g, write a = A N + a0 and b = B N + b0.

    Given a0 and b0 the product modulo p is one of q residues, a0 b0 + g c. It depends on a0, b0, A and B modulo
    q alone. For each a0 one matrix says which A lead from b (by its residue modulo p) to which c, another which
    B lead from b0 to b; their product counts pairs. Two b0 that are equal modulo g lead to the same residues b.
    """
    assert task.modulus is not None
    unit: int = task.base**sight.digits
    p, q = task.modulus, open_modulus(task, sight.digits)
    g = p // q
    steps = np.arange(q, dtype=np.int64)
    for a0 in range(min(q, unit)):
        for first in range(min(g, q, unit)):
            b0 = range(first, min(q, unit), g)
            a = (a0 + unit % p * steps) % p  # by A
            b = first + g * steps  # all that b may be
            c = (np.outer(b, a) - a0 * first) // g % q
            places = (np.array(b0)[:, None] + unit % p * steps - first) % p // g  # by b0 and B: which of b it is
            yield a0, b0, [_count_pairs(c, places, one, q) for one in sight.slices]


def _count_pairs(c: Counts, places: Counts, one: _Slice, q: int) -> Counts:
    """By b0 and c. A high part of every residue occurs equally often, and some residues once more; the counts
    of the small rest are exact as floats, those of all may be integers of any size."""
    a_residues, b_residues = Residues.of(one.a_high, q), Residues.of(one.b_high, q)
    rows = np.arange(q, dtype=np.int64)[:, None] * q
    some = (rows + c)[:, a_residues.once_more]
    a_parts = (a_residues.often, _histogram(rows + c, q)), (1, _histogram(some, q))
    b_rest = np.zeros((len(places), q))
    b_rest[np.arange(len(places))[:, None], places[:, b_residues.once_more]] = 1
    b_parts = (b_residues.often, np.ones((1, q))), (1, b_rest)
    kind = _integers(one.hidden_pairs)
    pairs = np.zeros((len(places), q), dtype=kind)
    for (a_times, a), (b_times, b) in product(a_parts, b_parts):
        if a_times and b_times:
            pairs += a_times * b_times * (b @ a).astype(np.int64).astype(kind)
    return pairs


def _histogram(places: npt.NDArray[np.int64], q: int) -> npt.NDArray[np.float64]:
    return np.bincount(places.ravel(), minlength=q * q).reshape(q, q).astype(np.float64)
