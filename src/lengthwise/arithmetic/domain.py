"""A domain is a set of operand pairs by digit length, or a weighted mixture of such sets.

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
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from lengthwise.arithmetic.part import MAX_LENGTH, Part
from lengthwise.arithmetic.task import Task, check_base, digit_count
from lengthwise.errors import InputError

GRAMMAR = (
    "write D4 (the longer operand has 4 digits), B4 (both have 4), 40x2 (a has 40, b has 2), D4[lead>=6], "
    "D1..4, 1..40x2, D4+D5 or 0.6*D6+0.4*D7"
)

BEYOND = 5
"""How far the usual test lengths go beyond training."""

_TERM = re.compile(
    r"(?:(?P<weight>\d+(?:\.\d+)?|\.\d+|\d+/\d+)\s*\*\s*)?"
    r"(?P<kind>[DB])?(?P<first>\d+)(?:\.\.(?P<last>\d+))?"
    r"(?:\[lead>=(?P<lead>\d+)\]|x(?P<second>\d+))?",
    re.ASCII,
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
            raise InputError(f"domain {text!r} must weigh all of its terms or none")
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
        """The longest operand."""
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
        """Digits that hold the answer to every pair."""
        return max(task.answer_digits(*part.lengths) for part in self.parts)

    @cached_property
    def size(self) -> int:
        """How many distinct pairs the mixture holds (a part inside another counts once)."""
        return sum(part.size for place, part in enumerate(self.parts) if not self._inside_another(place))

    def _inside_another(self, own: int) -> bool:
        """Two parts share all pairs of one of them, or none. Of equal ones the first counts."""
        part = self.parts[own]
        return any(
            part.is_inside(other) and (place < own or not other.is_inside(part))
            for place, other in enumerate(self.parts)
            if place != own
        )

    def __contains__(self, pair: tuple[int, int]) -> bool:
        return any(pair in part for part in self.parts)

    def separate_parts(self) -> "list[Domain]":
        """Each part as a domain of its own.

        >>> [str(part) for part in Domain.parse("D4+D5").separate_parts()]
        ['D4', 'D5']
        """
        return [Domain((part,), (Fraction(1),)) for part in self.parts]

    def mean(self, of: Callable[[Part], Fraction]) -> Fraction:
        """The mean over problems of what is known by part, as accuracy.

        >>> Domain.parse("0.6*D6+0.4*D7").mean(lambda part: Fraction(part.length))
        Fraction(32, 5)
        """
        return sum((w * of(part) for w, part in zip(self.weights, self.parts, strict=True)), Fraction())

    def weight(self, pair: tuple[int, int]) -> Fraction:
        """The exact probability of one pair."""
        return self.mean(lambda part: Fraction(pair in part, part.size))


def parse_test_domains(text: str, base: int = 10) -> list[Domain]:
    """The rows of a `--test` list: one for each domain of a comma list, and for each length of a range."""
    rows: list[Domain] = []
    for item in text.split(","):
        domain = Domain.parse(item, base)
        if "+" not in item and ".." in item:
            rows += domain.separate_parts()
        else:
            rows.append(domain)
    return rows


def default_test(train: Domain, longest: int = MAX_LENGTH) -> str:
    """Where a test list is left out: lengths 1 to five above the trained ones, of a alone if b has one length."""
    first = train.parts[0]
    if first.exact is not None and len({part.family for part in train.parts}) == 1:
        trained = max(part.lengths[0] for part in train.parts)
        return first.named(f"1..{min(trained + BEYOND, longest)}")
    return f"D1..{min(train.length + BEYOND, longest)}"


def pair_length(a: int, b: int, base: int) -> int:
    """The length n of the domain D_n that holds the pair."""
    return digit_count(max(a, b), base)


def _parse_term(term: str, text: str, base: int) -> tuple[Fraction | None, list[Part]]:
    match = _TERM.fullmatch(term.strip())
    if match is None or (match["kind"] is None) == (match["second"] is None):
        raise InputError(f"invalid domain {text!r}: cannot read {term!r}; {GRAMMAR}")
    first = int(match["first"])
    last = first if match["last"] is None else int(match["last"])
    if last < first:
        raise InputError(f"range {term!r} in domain {text!r} runs downward (write D2..5 or 2..5x2)")
    if last > MAX_LENGTH:
        raise InputError(f"length {last} in {term!r} is out of range (1 to {MAX_LENGTH})")
    lead = None if match["lead"] is None else int(match["lead"])
    weight = None
    if match["weight"] is not None:
        weight = _parse_weight(match["weight"], text)
    digits = range(first, last + 1)
    if match["second"] is not None:
        return weight, [Part.of_lengths(n, int(match["second"]), base) for n in digits]
    return weight, [Part(match["kind"], n, lead, base) for n in digits]


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
