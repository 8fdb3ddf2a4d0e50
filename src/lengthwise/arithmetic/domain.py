"""A domain is a set of operand pairs by digit length, a part, or a weighted mixture of parts.

>>> Domain.parse("D4").size
99000000
>>> (1234, 5) in Domain.parse("D4"), (1234, 5) in Domain.parse("B4")
(True, False)
>>> Domain.parse("0.6*D6+0.4*D7").weights
(Fraction(3, 5), Fraction(2, 5))
>>> str(Domain.parse("D1..4")), [str(d) for d in parse_test_domains("D1..3,B4")]
('D1..4', ['D1', 'D2', 'D3', 'B4'])
>>> str(Domain.parse("1..40x2")), [str(d) for d in parse_test_domains("8..9x2,40x2")]
('1..40x2', ['8x2', '9x2', '40x2'])
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Self

from lengthwise.arithmetic.task import Task, check_base, digit_count
from lengthwise.errors import InputError

MAX_LENGTH = 10_000
MAX_ROWS = 20_000

GRAMMAR = (
    "write D4 (the longer operand has 4 digits), B4 (both have 4), 40x2 (a has 40, b has 2), D4[lead>=6], "
    "D1..4, 1..40x2, D4+D5 or 0.6*D6+0.4*D7"
)

BEYOND = 5
"""Digits by which the default test lengths exceed training."""

_TERM = re.compile(
    r"(?:(?P<weight>\d+(?:\.\d+)?|\.\d+|\d+/\d+)\s*\*\s*)?"
    r"(?P<kind>[DB])?(?P<first>\d+)(?:\.\.(?P<last>\d+))?"
    r"(?:\[lead>=(?P<lead>\d+)\]|x(?P<second>\d+))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Part:
    """All pairs of one kind: D (the longer operand has `length` digits), B (both have `length` digits) or x (a and
    b have the numbers of digits in `exact`, and `length` is the larger).

    All digits below the top ones are free, so a part is defined by its lengths and the allowed pairs of top
    digits. A top digit has a lowest value, and in a part D not both are zero unless the length is 1. A one-digit
    number may be zero in every part.

    >>> lopsided = Part.of_lengths(40, 2)
    >>> str(lopsided), lopsided.length, lopsided.lengths, lopsided.size == 9 * 10**39 * 90
    ('40x2', 40, (40, 2), True)
    """

    kind: str
    length: int
    lead: int | None = None
    base: int = 10
    exact: tuple[int, int] | None = None

    @classmethod
    def of_lengths(cls, a_digits: int, b_digits: int, base: int = 10) -> Self:
        return cls("x", max(a_digits, b_digits), None, base, (a_digits, b_digits))

    def __post_init__(self) -> None:
        check_base(self.base)
        assert (self.kind == "x") == (self.exact is not None)
        for length in self.lengths:
            if not 1 <= length <= MAX_LENGTH:
                raise InputError(f"length {length} in {self} is out of range (1 to {MAX_LENGTH})")
        if self.lead is not None and not 1 <= self.lead < self.base:
            raise InputError(f"lead {self.lead} in {self} is out of range (1 to {self.base - 1})")

    def __str__(self) -> str:
        return self.named(str(self.lengths[0]))

    def named(self, digits: str) -> str:
        """The name with another length or range of lengths (in x, that of a)."""
        if self.exact is not None:
            return f"{digits}x{self.exact[1]}"
        return f"{self.kind}{digits}" + ("" if self.lead is None else f"[lead>={self.lead}]")

    @property
    def family(self) -> tuple[str, int | None, int | None]:
        """Equal for parts whose names differ only in their length."""
        return self.kind, self.lead, None if self.exact is None else self.exact[1]

    @property
    def lengths(self) -> tuple[int, int]:
        """The number of columns of a and of b. In a part D the top digit of one of them may be zero."""
        return self.exact or (self.length, self.length)

    @property
    def lowest_leads(self) -> tuple[int, int]:
        """The smallest top digits of a and b."""
        if self.lead is not None:
            return self.lead, self.lead
        a, b = (int(self.kind != "D" and length > 1) for length in self.lengths)
        return a, b

    @property
    def fewest_digits(self) -> tuple[int, int]:
        """The fewest digits of a and of b: 1 where the top digit may be zero."""
        a, b = (length if lead else 1 for length, lead in zip(self.lengths, self.lowest_leads, strict=True))
        return a, b

    @property
    def skips_zero_lead(self) -> bool:
        """Whether top digits (0, 0) are excluded: such a pair is shorter than this part's length."""
        return self.kind == "D" and self.lead is None and self.length > 1

    @property
    def lead_pairs(self) -> list[tuple[int, int]]:
        a_lowest, b_lowest = self.lowest_leads
        pairs = list(product(range(a_lowest, self.base), range(b_lowest, self.base)))
        return pairs[1:] if self.skips_zero_lead else pairs

    @property
    def size(self) -> int:
        return len(self.lead_pairs) * self.base ** (sum(self.lengths) - 2)

    def column(self, position: int) -> list[tuple[int, int]]:
        """The digit pairs of a column (1 is the lowest): equally likely and independent of other columns."""
        return self.digit_pairs(position, position)

    def digit_pairs(self, a_position: int, b_position: int) -> list[tuple[int, int]]:
        """The pairs of a digit of a and a digit of b that occur at these positions."""
        if self.lengths == (a_position, b_position):
            return self.lead_pairs
        return list(product(self._digits(0, a_position), self._digits(1, b_position)))

    def _digits(self, operand: int, position: int) -> range:
        length = self.lengths[operand]
        if position > length:
            return range(1)
        return range(self.lowest_leads[operand] if position == length else 0, self.base)

    @property
    def rectangles(self) -> tuple[tuple[range, range], ...]:
        """The part as disjoint products of two intervals."""
        if self.skips_zero_lead:
            unit, end = self.base ** (self.length - 1), self.base**self.length
            return ((range(unit, end), range(end)), (range(unit), range(unit, end)))
        both = zip(self.lowest_leads, self.lengths, strict=True)
        rows, columns = (range(lowest * self.base ** (n - 1), self.base**n) for lowest, n in both)
        return ((rows, columns),)

    def __contains__(self, pair: tuple[int, int]) -> bool:
        a, b = pair
        return any(a in rows and b in columns for rows, columns in self.rectangles)

    def is_inside(self, other: "Part") -> bool:
        """Whether the other part contains all pairs of this one. If neither contains the other, they share
        none."""
        # All pairs of a part have its length, and no rectangle overlaps two of another part: corners are enough.
        return (self.base, self.length) == (other.base, other.length) and all(
            (rows[0], columns[0]) in other and (rows[-1], columns[-1]) in other
            for rows, columns in self.rectangles
        )


@dataclass(frozen=True)
class Domain:
    """Parts with weights that sum to one. Problems are uniform within a part."""

    parts: tuple[Part, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        assert self.parts and len(self.parts) == len(self.weights) == len(set(self.parts))
        assert len({part.base for part in self.parts}) == 1
        if sum(self.weights) != 1 or min(self.weights) <= 0:
            total = _weight_text(sum(self.weights, Fraction()))
            raise InputError(f"weights of {self} must be positive and sum to 1, not to {total}")

    @classmethod
    def parse(cls, text: str, base: int = 10) -> Self:
        check_base(base)
        terms = [_parse_term(term, text, base) for term in text.split("+")]
        weighted = [weight is not None for weight, _ in terms]
        if any(weighted) and not all(weighted):
            raise InputError(f"domain {text!r} must give weights to all of its terms or none")
        shares: dict[Part, Fraction] = {}
        for weight, parts in terms:
            share = (Fraction(1, len(terms)) if weight is None else weight) / len(parts)
            for part in parts:
                shares[part] = shares.get(part, Fraction()) + share
        return cls(tuple(shares), tuple(shares.values()))

    def __str__(self) -> str:
        if len(set(self.weights)) > 1:
            return "+".join(f"{_weight_text(w)}*{part}" for w, part in zip(self.weights, self.parts, strict=True))
        first, digits = self.parts[0], [part.lengths[0] for part in self.parts]
        alike = first.lead is None and len({part.family for part in self.parts}) == 1
        if len(digits) > 2 and alike and digits == list(range(digits[0], digits[-1] + 1)):
            return first.named(f"{digits[0]}..{digits[-1]}")
        return "+".join(map(str, self.parts))

    @property
    def base(self) -> int:
        return self.parts[0].base

    @property
    def length(self) -> int:
        """The number of digits of the longest operand."""
        return max(part.length for part in self.parts)

    @property
    def operand_lengths(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The fewest and the most digits of a, and those of b.

        >>> Domain.parse("D1..4").operand_lengths, Domain.parse("1..40x2").operand_lengths
        (((1, 4), (1, 4)), ((1, 40), (2, 2)))
        """
        fewest = zip(*(part.fewest_digits for part in self.parts), strict=True)
        most = zip(*(part.lengths for part in self.parts), strict=True)
        a, b = ((min(low), max(high)) for low, high in zip(fewest, most, strict=True))
        return a, b

    def answer_digits(self, task: Task) -> int:
        """The number of digits of the longest answer."""
        return max(task.answer_digits(*part.lengths) for part in self.parts)

    @cached_property
    def size(self) -> int:
        """The number of distinct pairs in the mixture. Of two parts, one contains the other or they share none."""
        outer: list[Part] = []
        for part in sorted(self.parts, key=lambda part: part.size, reverse=True):
            if not any(part.is_inside(other) for other in outer):
                outer.append(part)
        return sum(part.size for part in outer)

    def __contains__(self, pair: tuple[int, int]) -> bool:
        return any(pair in part for part in self.parts)

    def separate_parts(self) -> "list[Domain]":
        """Each part as a separate domain.

        >>> [str(part) for part in Domain.parse("D4+D5").separate_parts()]
        ['D4', 'D5']
        """
        return [Domain((part,), (Fraction(1),)) for part in self.parts]

    def mean(self, of: Callable[[Part], Fraction]) -> Fraction:
        """The mean over problems of a quantity given for each part, such as accuracy.

        >>> Domain.parse("0.6*D6+0.4*D7").mean(lambda part: Fraction(part.length))
        Fraction(32, 5)
        """
        return sum((w * of(part) for w, part in zip(self.weights, self.parts, strict=True)), Fraction())

    def weight(self, pair: tuple[int, int]) -> Fraction:
        """The exact probability of one pair."""
        return self.mean(lambda part: Fraction(pair in part, part.size))


def parse_test_domains(text: str, base: int = 10) -> list[Domain]:
    """The domains of a `--test` list: one for each item between commas, and for each length of a range."""
    rows, items = list[Domain](), text.split(",")
    for item in items:
        domain = Domain.parse(item, base)
        rows += domain.separate_parts() if ".." in item and "+" not in item else [domain]
        if max(len(rows), len(items)) > MAX_ROWS:
            raise InputError(f"too many test domains (at most {MAX_ROWS:,})")
    return rows


def default_test(train: Domain, longest: int = MAX_LENGTH) -> str:
    """The default `--test` list: lengths from 1 to five above training, only of a if b has a single length."""
    first = train.parts[0]
    if first.exact is not None and len({part.family for part in train.parts}) == 1:
        trained = max(part.lengths[0] for part in train.parts)
        return first.named(f"1..{min(trained + BEYOND, longest)}")
    return f"D1..{min(train.length + BEYOND, longest)}"


def pair_length(a: int, b: int, base: int) -> int:
    """The length n of the domain D_n that contains the pair."""
    return digit_count(max(a, b), base)


STOP, MAKE, PASS = range(3)
"""What a column does to a carry: its digits sum to at most base - 2, to base or more, or to base - 1."""


def by_carry(pairs: Iterable[tuple[int, int]], base: int) -> list[list[tuple[int, int]]]:
    """Pairs of digits of one column, by what they do to a carry.

    >>> by_carry([(1, 2), (9, 0), (9, 1)], 10)
    [[(1, 2)], [(9, 1)], [(9, 0)]]
    """
    kinds: list[list[tuple[int, int]]] = [[], [], []]
    for x, y in pairs:
        kinds[PASS if x + y == base - 1 else MAKE if x + y >= base else STOP].append((x, y))
    return kinds


def free_columns(base: int) -> list[list[tuple[int, int]]]:
    """All pairs of digits, by what they do to a carry."""
    return by_carry(product(range(base), range(base)), base)


def _parse_term(term: str, text: str, base: int) -> tuple[Fraction | None, list[Part]]:
    match = _TERM.fullmatch(term.strip())
    if match is None or (match["kind"] is None) == (match["second"] is None):
        raise InputError(f"invalid domain {text!r}: cannot read {term!r}; {GRAMMAR}")
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if last < first:
        raise InputError(f"range {term!r} in domain {text!r} is descending (write D2..5 or 2..5x2)")
    if last > MAX_LENGTH:
        raise InputError(f"length {last} in {term!r} is out of range (1 to {MAX_LENGTH})")
    lead = None if match["lead"] is None else int(match["lead"])
    try:
        weight = None if match["weight"] is None else Fraction(match["weight"])
    except ZeroDivisionError:
        raise InputError(f"weight {match['weight']!r} in domain {text!r} divides by zero") from None
    digits = range(first, last + 1)
    if match["second"] is not None:
        return weight, [Part.of_lengths(n, int(match["second"]), base) for n in digits]
    return weight, [Part(match["kind"], n, lead, base) for n in digits]


def _weight_text(weight: Fraction) -> str:
    """A weight as a short decimal where it is exact, else as a fraction; both can be parsed again."""
    decimal = f"{Decimal(weight.numerator) / Decimal(weight.denominator):f}"
    return decimal if len(decimal) <= 16 and Fraction(decimal) == weight else str(weight)
