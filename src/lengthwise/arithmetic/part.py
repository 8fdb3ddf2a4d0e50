"""A part is the set of all pairs of operands of certain lengths: D4, B4, 40x2 or D4[lead>=6].

>>> Part("D", 4).size, (1234, 5) in Part("D", 4), (1234, 5) in Part("B", 4)
(99000000, True, False)
>>> lopsided = Part.of_lengths(40, 2)
>>> str(lopsided), lopsided.length, lopsided.lengths, lopsided.size == 9 * 10**39 * 90
('40x2', 40, (40, 2), True)
"""

from dataclasses import dataclass
from itertools import product
from typing import Self

from lengthwise.arithmetic.task import check_base
from lengthwise.errors import InputError

MAX_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """All pairs of one kind: D (the longer operand has `length` digits), B (both have) or x (a and b have
    `exact` digits, and `length` is the larger).

    Below its top digits a pair of a part is free, so a part is told by where the top digits stand and by the
    pairs of them that it holds: each at least its lowest one, and in a part D not both zero unless the length
    is 1. A number of one digit may be zero in every part.
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
        """The name with another number of digits, or a range of them, in place of its own (in x, of a's)."""
        if self.exact is not None:
            return f"{digits}x{self.exact[1]}"
        return f"{self.kind}{digits}" + ("" if self.lead is None else f"[lead>={self.lead}]")

    @property
    def family(self) -> tuple[str, int | None, int | None]:
        """What parts share that differ in that number alone."""
        return self.kind, self.lead, None if self.exact is None else self.exact[1]

    @property
    def lengths(self) -> tuple[int, int]:
        """In how many columns a and b have digits. In a part D the top one of these may be zero."""
        return self.exact or (self.length, self.length)

    @property
    def lowest_leads(self) -> tuple[int, int]:
        """The smallest top digits of a and b."""
        if self.exact is not None:
            return int(self.exact[0] > 1), int(self.exact[1] > 1)
        lowest = int(self.kind == "B" and self.length > 1) if self.lead is None else self.lead
        return lowest, lowest

    @property
    def fewest_digits(self) -> tuple[int, int]:
        """Of a and of b. Below a top digit that may be zero, a number may be of any length."""
        a, b = (length if lead else 1 for length, lead in zip(self.lengths, self.lowest_leads, strict=True))
        return a, b

    @property
    def skips_zero_lead(self) -> bool:
        """Whether top digits (0, 0) are left out: such a pair is shorter than this part's length."""
        return self.kind == "D" and self.lead is None and self.length > 1

    @property
    def lead_pairs(self) -> list[tuple[int, int]]:
        a_lowest, b_lowest = self.lowest_leads
        pairs = list(product(range(a_lowest, self.base), range(b_lowest, self.base)))
        return pairs[1:] if self.skips_zero_lead else pairs

    @property
    def lead_pair_count(self) -> int:
        a_lowest, b_lowest = self.lowest_leads
        return (self.base - a_lowest) * (self.base - b_lowest) - self.skips_zero_lead

    @property
    def size(self) -> int:
        return self.lead_pair_count * self.base ** (sum(self.lengths) - 2)

    def column(self, position: int) -> list[tuple[int, int]]:
        """The pairs of digits of a column, 1 being the lowest: all equally likely, whatever other columns hold."""
        return self.digit_pairs(position, position)

    def digit_pairs(self, a_position: int, b_position: int) -> list[tuple[int, int]]:
        """The pairs of a digit of a and a digit of b at these positions that occur."""
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
        rows, columns = (
            range(lowest * self.base ** (length - 1), self.base**length)
            for lowest, length in zip(self.lowest_leads, self.lengths, strict=True)
        )
        return ((rows, columns),)

    def __contains__(self, pair: tuple[int, int]) -> bool:
        a, b = pair
        return any(a in rows and b in columns for rows, columns in self.rectangles)

    def is_inside(self, other: "Part") -> bool:
        """Whether the other part holds all its pairs; if neither is inside the other, they share none."""
        if (self.length, self.base) != (other.length, other.base):
            return False
        # No rectangle of a part lies across two of another part.
        return all(
            any(_within(rows, others) and _within(columns, more) for others, more in other.rectangles)
            for rows, columns in self.rectangles
        )


def _within(interval: range, other: range) -> bool:
    return other.start <= interval.start and interval.stop <= other.stop
