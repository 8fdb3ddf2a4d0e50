"""The columns of random problems: carry chains, digits, and what a training domain shows at each position.

*Chains.* A carry chain starts at a column whose digits sum to the base or more and continues through the columns
directly above it that sum to base - 1, each of which passes the carry on. Its length counts all of these columns.

>>> part = Domain.parse("B2").parts[0]
>>> chain_counts(part)  # of 90 x 90 pairs: no carry, chains of 1 and of 2
[1980, 5760, 360]

*Digit by digit.* Trained on four digits, a model that truncates writes 0 at position 6, and on D5 that is right
where no carry leaves the fifth column:

>>> digit_accuracy(Hypothesis("truncated", 4), Domain.parse("D5"), 6)
Fraction(10889, 22000)

*Coverage* lists digit pairs, carries and answer digits of sums. The paper's footnote follows from it: in pairs
whose top digits are at least 6, digit 5 of the sum is always 1.

>>> top = coverage(Task.parse("add"), Domain.parse("D4[lead>=6]"))[4]
>>> top.position, sorted(top.outputs)
(5, [1])

`unseen_pairs` lists, for every task, digits of a and b that never occur together in training but do in a shorter
test domain: D4 never has a_4 = b_4 = 0.

>>> unseen_pairs(Task.parse("mul"), Domain.parse("D4"), Domain.parse("D3"))
[UnseenPairs(a_position=4, b_position=4, pairs=frozenset({(0, 0)}))]
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.arithmetic.domain import by_carry, free_columns
from lengthwise.errors import InputError
from lengthwise.theory import theory_of
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.residues import len_big


def count_shorter(part: Part, limit: int) -> int:
    """The number of pairs of the part without a carry chain of `limit` columns or more."""
    if limit <= 0:
        return 0
    runs = [1] + [0] * (limit - 1)  # pairs by the length of the chain that reaches the current column
    for stop, make, pass_on in _columns(part):
        every, handed_on = sum(runs), [pass_on * count for count in runs]
        runs = [stop * every + handed_on[0], make * every, *handed_on[1:]][:limit]
    return sum(runs)


def _columns(part: Part) -> list[list[int]]:
    """For each column from the lowest, how many digit pairs stop a carry, make one, or pass it on. Digits below
    the top digit of the shorter operand are free."""
    short, long = sorted(part.lengths)
    free = [free_columns(part.base)] * (short - 1)
    upper = [by_carry(part.column(position), part.base) for position in range(short, long + 1)]
    return [[len(pairs) for pairs in kinds] for kinds in free + upper]


def chain_counts(part: Part) -> list[int]:
    """The number of pairs whose longest chain has exactly 0, 1, ..., length columns."""
    below = [count_shorter(part, limit) for limit in range(part.length + 2)]
    return [more - fewer for fewer, more in pairwise(below)]


def carry_probability(part: Part, position: int) -> Fraction:
    """The probability that a carry enters a column. Two uniform numbers below N sum to N or more with probability
    (N - 1) / 2N."""
    if position > part.length + 1:
        return Fraction()
    free = part.base ** (min(position, *part.lengths) - 1)
    entering = Fraction(free - 1, 2 * free)
    for below in range(min(part.lengths), position):
        stop, make, pass_on = map(len, by_carry(part.column(below), part.base))
        entering = (make + entering * pass_on) / (stop + make + pass_on)
    return entering


def digit_accuracy(hypothesis: Hypothesis, domain: Domain, position: int) -> Fraction:
    """The share of sums for which the hypothesis gives the right digit at a position (1 is the lowest)."""
    if hypothesis.kind == "windowed":
        raise InputError(f"digit accuracy is derived for truth and truncated:n, not for {hypothesis}")
    size = hypothesis.size
    if size is None or position <= size:
        return Fraction(1)
    if position > size + 1:
        return digit_share(0, domain, position)

    def sums_to_zero(part: Part) -> Fraction:
        column = part.column(position)
        return Fraction(sum((x + y) % part.base == 0 for x, y in column), len(column))

    # At position size + 1 the truncated sum has the carry from below and lacks only this column's digits.
    return domain.mean(sums_to_zero)


def digit_share(digit: int, domain: Domain, position: int) -> Fraction:
    """The share of sums that have this digit at a position."""

    def share(part: Part) -> Fraction:
        column, carry = part.column(position), carry_probability(part, position)
        sums = [(x + y) % part.base for x, y in column]
        without, with_carry = sums.count(digit), sums.count((digit - 1) % part.base)
        return ((1 - carry) * without + carry * with_carry) / len(sums)

    return domain.mean(share)


def r2_ceiling(domain: Domain, position: int) -> Fraction:
    """The best possible R2 of a sum's digit predicted from its own column and the carry made by the column below.

    The paper follows training by fitting a decision tree from x = (a_i + b_i) mod base and y = (a_{i-1} + b_{i-1})
    div base to the model's digit i. Not even a perfect adder reaches R2 = 1: where y = 0 a carry may still come
    in, through a column i-1 that sums to base - 1. With q the chance that a carry enters column i-1,

        r = 2 q / (base + 1)   is the chance of a carry where y = 0, and   R2 <= 1 - 6 r (1 - r) / base.

    Problems are those of the domain with the digits of columns i-1 to i+1 drawn anew, so x is uniform and
    independent of all below it. Given y = 0 the digit is x with chance 1 - r and x + 1 else, which is 0 where
    x = base - 1; given y = 1 it is certain. The mean variance left is therefore
    (base + 1) / (2 base) r (1 - r) (base - 1), out of (base^2 - 1) / 12.

    >>> [round(float(r2_ceiling(Domain.parse("D4"), position)), 4) for position in range(1, 8)]
    [1.0, 1.0, 0.9549, 0.9509, 0.9505, 0.95, 1.0]
    """
    below = max(1, position - 1)  # nothing comes into the lowest column
    unseen = 2 * domain.mean(lambda part: carry_probability(part, below)) / (domain.base + 1)
    return 1 - 6 * unseen * (1 - unseen) / domain.base


# --- coverage -----------------------------------------------------------------------------------------------

Pairs = frozenset[tuple[int, int]]
Digits = frozenset[int]


@dataclass(frozen=True, slots=True)
class PositionCoverage:
    """What occurs at a position (1 is the least significant). `carries` are those that enter the column."""

    position: int
    pairs: Pairs
    carries: Digits
    outputs: Digits


def coverage(task: Task, domain: Domain) -> list[PositionCoverage]:
    """One entry for each position of the answer, or of the operands if these are longer."""
    if not task.op.has_carries:
        told = "without --coverage, predict names digit pairs that training never shows"
        raise InputError(f"coverage is derived for addition, with or without a modulus, not for {task} ({told})")
    positions = range(1, max(domain.length + 1, task.answer_digits(domain.length)) + 1)
    return [_position(task, domain, position) for position in positions]


@dataclass(frozen=True, slots=True)
class UnseenPairs:
    """Pairs of a digit of a and a digit of b, at these positions."""

    a_position: int
    b_position: int
    pairs: Pairs

    def as_json(self) -> dict[str, Any]:
        return {"a_position": self.a_position, "b_position": self.b_position, "pairs": sorted(self.pairs)}


def unseen_pairs(task: Task, train: Domain, test: Domain) -> list[UnseenPairs]:
    """The digit pairs of the test domain that never occur in training, up to the longest trained position.

    A sum combines the digits of one column. A product combines every digit of a with every digit of b, and a
    residue depends on all digits, so there all pairs of positions count. Shorter operands have leading zeros.
    """
    theory = theory_of(task)
    meet = _by_column if theory is not None and theory.by_columns and task.modulus is None else product
    parts = (*train.parts, *test.parts)
    spans = _spans({length for part in parts for length in part.lengths}, train.length)
    found: list[UnseenPairs] = []
    for a_span, b_span in meet(spans, spans):
        pairs = _unseen_at(a_span[0], b_span[0], train, test)
        if pairs:
            found += [UnseenPairs(a, b, pairs) for a, b in meet(a_span, b_span)]
    return found


_by_column = partial(zip, strict=True)


def _spans(lengths: set[int], longest: int) -> list[range]:
    """Positions 1 to the longest, in intervals within which each operand shows the same digits.

    >>> _spans({3, 6}, 6)
    [range(1, 3), range(3, 4), range(4, 6), range(6, 7)]
    """
    bounds = {1, longest + 1} | {
        bound for length in lengths if length <= longest for bound in (length, length + 1)
    }
    return [range(first, last) for first, last in pairwise(sorted(bounds))]


def _unseen_at(a_position: int, b_position: int, train: Domain, test: Domain) -> Pairs:
    needed = {pair for part in test.parts for pair in part.digit_pairs(a_position, b_position)}
    for part in train.parts:
        if needed:
            needed -= set(part.digit_pairs(a_position, b_position))
    return frozenset(needed)


def _position(task: Task, domain: Domain, position: int) -> PositionCoverage:
    pairs, carries, outputs = set[tuple[int, int]](), set[int](), set[int]()
    for part in domain.parts:
        column, chance = part.column(position), carry_probability(part, position)
        entering = {carry for carry, possible in ((0, chance < 1), (1, chance > 0)) if possible}
        pairs.update(column)
        carries |= entering
        if task.modulus is None:
            outputs |= {(x + y + carry) % task.base for (x, y), carry in product(column, entering)}
        else:
            outputs |= _residue_digits(part, task.modulus, position)
    return PositionCoverage(position, frozenset(pairs), frozenset(carries), frozenset(outputs))


def _residue_digits(part: Part, modulus: int, position: int) -> set[int]:
    """Answer digits at a position: the sums of two intervals fill an interval, so residues do too."""
    unit, digits = part.base ** (position - 1), set[int]()
    for rows, columns in part.rectangles:
        start = (rows.start + columns.start) % modulus
        end = start + min(len_big(rows) + len_big(columns) - 1, modulus)
        for piece in (range(start, min(end, modulus)), range(end - modulus)):
            if piece:
                low, high = piece[0] // unit, piece[-1] // unit
                digits |= {value % part.base for value in range(low, min(high, low + part.base - 1) + 1)}
    return digits
