"""The digits and carries that a training domain shows at each position.

`coverage` lists digit pairs, carries and answer digits of sums. The paper's footnote follows from it: in pairs
whose top digits are at least 6, digit 5 of the sum is always 1.

>>> top = coverage(Task.parse("add"), Domain.parse("D4[lead>=6]"))[4]
>>> top.position, sorted(top.outputs)
(5, [1])

`unseen_pairs` lists, for every task, digits of a and b that never occur together in training but do in a shorter
test domain: D4 never has a_4 = b_4 = 0.

>>> unseen_pairs(Task.parse("mul"), Domain.parse("D4"), Domain.parse("D3"))
[UnseenPairs(a_position=4, b_position=4, pairs=frozenset({(0, 0)}))]

`unseen_views` does the same for the local rule of addition (hypotheses.py): if training shows every view that
occurs in longer operands, the training data determine the rule for them.

>>> d3, d4, d9 = (Domain.parse(name, 3) for name in ("D3", "D4", "D9"))
>>> len(unseen_views(d3, d9, "reversed")) > 0, len(unseen_views(d4, d9, "reversed"))
(True, 0)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.carries import carry_probability
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.hypotheses import Digit, View
from lengthwise.theory.operations import theory_of
from lengthwise.theory.residues import len_big

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
        raise InputError(f"coverage is derived for addition, with or without a modulus, not for {task}")
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


def unseen_views(train: Domain, test: Domain, layout: str, width: int | None = None) -> frozenset[View]:
    """The views that occur while sums of the test domain are written, and never in training."""
    return local_views(test, layout, width) - local_views(train, layout, width)


def local_views(domain: Domain, layout: str, width: int | None = None) -> frozenset[View]:
    """All views that occur while sums of a domain are written, in a layout that writes the lowest digit first.

    `width` is the number of operand columns in a layout of fixed widths.
    """
    found = frozenset(
        view
        for part in domain.parts
        for columns in _written_columns(part, layout, width)
        for view in _views(columns, part.base)
    )
    return found if layout_facts(layout).levels_answers else found - {AFTER_THE_END}


Column = list[tuple[Digit, Digit]]
ABSENT: Column = [(None, None)]
AFTER_THE_END = View(None, None, 0, None, None)
"""A zero above both operands is written only in layouts with answers of equal width; elsewhere the sum has
ended."""


def _views(columns: list[Column], base: int) -> Iterator[View]:
    """All views of these columns. Digits are independent between columns; carries follow from the columns
    below."""
    below: set[tuple[Digit, Digit, Digit]] = {(None, None, None)}
    carries = {0}
    for column in columns:
        yield from (View(*under, *pair) for under, pair in product(below, column))
        sums = [((a or 0) + (b or 0) + carry, a, b) for (a, b), carry in product(column, carries)]
        below = {(a, b, total % base) for total, a, b in sums}
        carries = {total // base for total, _, _ in sums}


def _written_columns(part: Part, layout: str, width: int | None) -> Iterator[list[Column]]:
    """The columns of a part's sums as a layout writes them, up to the column where a sum has ended.

    Operands of different lengths are listed separately where the layout shows their lengths.
    """
    facts = layout_facts(layout)
    if facts.with_steps or not facts.tells_significance:
        raise InputError(f"layout {layout!r} does not write a sum digit by digit from the lowest")
    top = part.length
    if facts.fixed_width:
        assert width is not None and width >= top
        top = width
    shapes = [(part, (top, top))]
    if not facts.fixed_width and not facts.levels_answers:
        singles = (Part.of_lengths(a, b, part.base) for a, b in product(range(1, top + 1), repeat=2))
        shapes = [(single, single.lengths) for single in singles if single.is_inside(part)]
    for shape, lengths in shapes:
        columns = [_view_column(shape, position, lengths) for position in range(1, top + 1)]
        yield columns + [ABSENT] * (1 if facts.fixed_width else 2)


def _view_column(part: Part, position: int, lengths: tuple[int, int]) -> Column:
    """The digit pairs of a column: None above these lengths, zeros between an operand's digits and its length."""
    a_shown, b_shown = (position <= length for length in lengths)
    return [(a if a_shown else None, b if b_shown else None) for a, b in part.column(position)]
