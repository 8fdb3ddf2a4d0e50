"""The ceiling of R2 against every problem there is."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest
from brute_force import all_pairs, digits

from lengthwise.arithmetic import Domain, Part
from lengthwise.theory.carries import r2_ceiling


def redrawn(pairs, position, base, width):
    """Every problem with its columns around a position drawn anew, as often as it comes up."""
    around = [column for column in (position - 2, position - 1, position) if 0 <= column < width]
    for a, b in pairs:
        x, y = digits(a, base, width), digits(b, base, width)
        for fresh in product(product(range(base), repeat=2), repeat=len(around)):
            for column, (p, q) in zip(around, fresh, strict=True):
                x[column], y[column] = p, q
            yield x, y


def weighted_r2(cells):
    """Of the best function of the cells: {(features, digit): weight}."""
    total = sum(cells.values())
    mean = sum(w * d for (_, d), w in cells.items()) / total
    variance = sum(w * (d - mean) ** 2 for (_, d), w in cells.items())
    groups = defaultdict(list)
    for (features, digit), weight in cells.items():
        groups[features].append((digit, weight))
    left = Fraction()
    for group in groups.values():
        own = sum(w * d for d, w in group) / sum(w for _, w in group)
        left += sum(w * (d - own) ** 2 for d, w in group)
    return 1 - left / variance


@pytest.mark.parametrize(
    ("text", "base", "width"),
    [
        ("D2", 2, 5),
        ("D1", 3, 4),
        ("D2", 3, 4),
        ("B2", 3, 4),
        ("D2[lead>=2]", 3, 4),
        ("0.25*D1+0.75*D2", 3, 4),
        ("3x1", 2, 5),
        ("1x2", 3, 4),
    ],
)
def test_the_ceiling_is_what_the_best_function_reaches(text, base, width):
    domain = Domain.parse(text, base)
    for position in range(1, width):
        cells = defaultdict(Fraction)
        for weight, part in zip(domain.weights, domain.parts, strict=True):
            share = Fraction(weight, part.size)
            for x, y in redrawn(all_pairs(single(part)), position, base, width):
                value = sum((p + q) * base**k for k, (p, q) in enumerate(zip(x, y, strict=True)))
                below = (x[position - 2] + y[position - 2]) // base if position > 1 else 0
                features = (x[position - 1] + y[position - 1]) % base, below
                cells[features, digits(value, base, position)[-1]] += share
        assert r2_ceiling(domain, position) == weighted_r2(cells), position


def single(part: Part) -> Domain:
    return Domain((part,), (Fraction(1),))


def test_far_above_the_operands_nothing_is_hidden():
    assert r2_ceiling(Domain.parse("D4"), 7) == r2_ceiling(Domain.parse("D4"), 20) == 1
