"""A domain is a set of operand pairs by digit length, or a weighted mixture of such sets.

>>> Domain.parse("D4").size
99000000
>>> (1234, 5) in Domain.parse("D4"), (1234, 5) in Domain.parse("B4")
(True, False)
>>> Domain.parse("0.6*D6+0.4*D7").weights
(Fraction(3, 5), Fraction(2, 5))
>>> str(Domain.parse("D1..4")), [str(d) for d in parse_test_domains("D1..3,B4")]
('D1..4', ['D1', 'D2', 'D3', 'B4'])
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from lengthwise.arithmetic.task import check_base, digit_count
from lengthwise.errors import InputError

MAX_LENGTH = 10_000

GRAMMAR = (
    "allowed are D4 (the longer operand has 4 digits), B4 (both have 4), D4[lead>=6], D1..4, D4+D5 and "
    "0.6*D6+0.4*D7"
)

_TERM = re.compile(
    r"(?:(?P<weight>\d+(?:\.\d+)?|\.\d+|\d+/\d+)\s*\*\s*)?"
    r"(?P<kind>[DB])(?P<first>\d+)(?:\.\.(?P<last>\d+))?(?:\[lead>=(?P<lead>\d+)\])?"
)


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """All pairs of one kind and length: D4, B4 or D4[lead>=6].

    Below its top digit a pair of a part is free, so a part is told by the pairs of top digits it holds:
    both at least `lowest_lead`, and not both zero unless the length is 1.
    """

    kind: str
    length: int
    lead: int | None = None
    base: int = 10

    def __post_init__(self) -> None:
        check_base(self.base)
        if not 1 <= self.length <= MAX_LENGTH:
            raise InputError(f"length {self.length} in {self} is out of range: allowed is 1 to {MAX_LENGTH}")
        if self.lead is not None and not 1 <= self.lead < self.base:
            raise InputError(
                f"lead {self.lead} in {self} is no leading digit: allowed is 1 to {self.base - 1} "
                f"in base {self.base}"
            )

    def __str__(self) -> str:
        return f"{self.kind}{self.length}" + ("" if self.lead is None else f"[lead>={self.lead}]")

    @property
    def lowest_lead(self) -> int:
        """The smallest top digit that both operands may have."""
        if self.lead is not None:
            return self.lead
        return 1 if self.kind == "B" and self.length > 1 else 0

    @property
    def skips_zero_lead(self) -> bool:
        """Whether top digits (0, 0) are left out: such a pair is shorter than this part's length."""
        return self.lowest_lead == 0 and self.length > 1

    @property
    def lead_pairs(self) -> list[tuple[int, int]]:
        digits = range(self.lowest_lead, self.base)
        pairs = [(x, y) for x in digits for y in digits]
        return pairs[1:] if self.skips_zero_lead else pairs

    @property
    def lead_pair_count(self) -> int:
        return (self.base - self.lowest_lead) ** 2 - self.skips_zero_lead

    @property
    def size(self) -> int:
        return self.lead_pair_count * self.base ** (2 * (self.length - 1))

    @property
    def rectangles(self) -> tuple[tuple[range, range], ...]:
        """The part as disjoint products of two intervals."""
        unit, end = self.base ** (self.length - 1), self.base**self.length
        if not self.skips_zero_lead:
            side = range(self.lowest_lead * unit, end)
            return ((side, side),)
        return ((range(unit, end), range(end)), (range(unit), range(unit, end)))

    def __contains__(self, pair: tuple[int, int]) -> bool:
        a, b = pair
        return any(a in rows and b in columns for rows, columns in self.rectangles)


@dataclass(frozen=True)
class Domain:
    """Parts with weights that sum to one. Problems are uniform within a part."""

    parts: tuple[Part, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        assert self.parts and len(self.parts) == len(self.weights) == len(set(self.parts))
        assert len({part.base for part in self.parts}) == 1
        if sum(self.weights) != 1 or min(self.weights) <= 0:
            shown = "+".join(map(_weight_text, self.weights))
            raise InputError(
                f"weights {shown} of {self} sum to {_weight_text(sum(self.weights, Fraction()))}: "
                "allowed are positive weights that sum to 1"
            )

    @classmethod
    def parse(cls, text: str, base: int = 10) -> Self:
        check_base(base)
        terms = [_parse_term(term, text, base) for term in text.split("+")]
        weighted = [weight is not None for weight, _ in terms]
        if any(weighted) and not all(weighted):
            raise InputError(f"domain {text!r} weighs some terms and not others: allowed is all or none")
        shares: dict[Part, Fraction] = {}
        for weight, parts in terms:
            share = (Fraction(1, len(terms)) if weight is None else weight) / len(parts)
            for part in parts:
                shares[part] = shares.get(part, Fraction()) + share
        return cls(tuple(shares), tuple(shares.values()))

    def __str__(self) -> str:
        equal = len(set(self.weights)) == 1
        if not equal:
            return "+".join(f"{_weight_text(w)}*{part}" for w, part in zip(self.weights, self.parts, strict=True))
        first, last = self.parts[0], self.parts[-1]
        run = tuple(Part(first.kind, n, None, self.base) for n in range(first.length, last.length + 1))
        if len(self.parts) > 2 and run == self.parts:
            return f"{first.kind}{first.length}..{last.length}"
        return "+".join(map(str, self.parts))

    @property
    def base(self) -> int:
        return self.parts[0].base

    @property
    def length(self) -> int:
        """The longest operand."""
        return max(part.length for part in self.parts)

    @cached_property
    def size(self) -> int:
        """How many distinct pairs the mixture holds (a part inside another counts once)."""
        return sum(part.size for part in self.parts if not self._inside_another(part))

    def _inside_another(self, part: Part) -> bool:
        """Parts of one length are nested: the lower the lead, the larger, and D before B where equal."""
        return any(
            other != part
            and other.length == part.length
            and (-other.size, other.kind != "D", str(other)) < (-part.size, part.kind != "D", str(part))
            for other in self.parts
        )

    def __contains__(self, pair: tuple[int, int]) -> bool:
        return any(pair in part for part in self.parts)

    def weight(self, pair: tuple[int, int]) -> Fraction:
        """The exact probability of one pair."""
        return sum(
            (w / part.size for w, part in zip(self.weights, self.parts, strict=True) if pair in part),
            Fraction(),
        )


def parse_test_domains(text: str, base: int = 10) -> list[Domain]:
    """The rows of a `--test` list: one for each domain of a comma list, and for each length of a range."""
    rows: list[Domain] = []
    for item in text.split(","):
        domain = Domain.parse(item, base)
        if "+" not in item and ".." in item:
            rows += [Domain((part,), (Fraction(1),)) for part in domain.parts]
        else:
            rows.append(domain)
    return rows


def default_test(train: Domain) -> str:
    """Where a test list is left out: lengths 1 to five above the trained ones."""
    return f"D1..{min(train.length + 5, MAX_LENGTH)}"


def pair_length(a: int, b: int, base: int) -> int:
    """The length n of the domain D_n that holds the pair."""
    return digit_count(max(a, b), base)


def _parse_term(term: str, text: str, base: int) -> tuple[Fraction | None, list[Part]]:
    match = _TERM.fullmatch(term.strip())
    if match is None:
        raise InputError(f"cannot read {term!r} in domain {text!r}: {GRAMMAR}")
    first = int(match["first"])
    last = first if match["last"] is None else int(match["last"])
    if last < first:
        raise InputError(f"range {term!r} in domain {text!r} runs downward: allowed is D2..5")
    if last > MAX_LENGTH:
        raise InputError(f"length {last} in {term!r} is out of range: allowed is 1 to {MAX_LENGTH}")
    lead = None if match["lead"] is None else int(match["lead"])
    weight = None
    if match["weight"] is not None:
        weight = _parse_weight(match["weight"], text)
    return weight, [Part(match["kind"], n, lead, base) for n in range(first, last + 1)]


def _parse_weight(weight: str, text: str) -> Fraction:
    try:
        return Fraction(weight)
    except ZeroDivisionError:
        raise InputError(f"weight {weight!r} in domain {text!r} divides by zero") from None


def _weight_text(weight: Fraction) -> str:
    """As a decimal where it is finite, else as a fraction; both parse back."""
    denominator = weight.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        return str(weight)
    digits = 0
    while (weight * 10**digits).denominator != 1:
        digits += 1
    return f"{float(weight):.{digits}f}" if digits < 15 else str(weight)
