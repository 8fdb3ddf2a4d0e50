"""The local rule of addition: a sum is a function of two columns and the digit just written.

Answers are written from the lowest digit. A carry leaves a column exactly if its digits sum to more than the
digit written there, so whoever writes the next digit need not look further down:

>>> local_sum(58271, 41769, 10), local_sum(999_999, 1, 10)
(100040, 1000000)

A *view* is what such a writer looks at. If training shows every view that longer operands have, its data
determine the rule there: `unseen_views` tells those that it does not show.

>>> d3, d4, d9 = (Domain.parse(name, 3) for name in ("D3", "D4", "D9"))
>>> len(unseen_views(d3, d9, "reversed")) > 0, len(unseen_views(d4, d9, "reversed"))
(True, 0)
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from lengthwise.arithmetic import Domain, Part
from lengthwise.errors import InputError
from lengthwise.theory.encodings import layout_facts

Digit = int | None
"""None where the layout has no digit: above an operand's own, above the fixed width, below the lowest."""


class View(NamedTuple):
    """The column below, the digit written there, and the own column."""

    a_below: Digit
    b_below: Digit
    written: Digit
    a: Digit
    b: Digit


def next_digit(view: View, base: int) -> int:
    """The local rule. What is absent counts as zero.

    >>> next_digit(View(8, 5, 3, 9, 0), 10), next_digit(View(8, 5, 4, 9, 0), 10)  # 13 > 3, 13 > 4: a carry
    (0, 0)
    >>> next_digit(View(4, 5, 9, 9, 0), 10), next_digit(View(4, 5, 0, 9, 0), 10)  # 9 = 9: none; 9 > 0: a carry
    (9, 0)
    """
    a_below, b_below, written, a, b = (digit or 0 for digit in view)
    return (a + b + (a_below + b_below > written)) % base


def local_sum(a: int, b: int, base: int) -> int:
    total, place = 0, 1
    view = View(None, None, None, a % base, b % base)
    while a or b or next_digit(view, base):
        written = next_digit(view, base)
        total, place = total + place * written, place * base
        a, b, below_a, below_b = a // base, b // base, a % base, b % base
        view = View(below_a, below_b, written, a % base, b % base)
    return total


def unseen_views(train: Domain, test: Domain, layout: str, width: int | None = None) -> frozenset[View]:
    """The views that writing sums of the test domain has and of the training domain has not."""
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
"""A zero above both operands is written where answers are levelled alone; elsewhere the sum has ended."""


def _views(columns: list[Column], base: int) -> Iterator[View]:
    """Columns are independent of each other; which carries enter one follows from those below."""
    below: set[tuple[Digit, Digit, Digit]] = {(None, None, None)}
    carries = {0}
    for column in columns:
        yield from (View(*under, *pair) for under, pair in product(below, column))
        sums = [((a or 0) + (b or 0) + carry, a, b) for (a, b), carry in product(column, carries)]
        below = {(a, b, total % base) for total, a, b in sums}
        carries = {total // base for total, _, _ in sums}


def _written_columns(part: Part, layout: str, width: int | None) -> Iterator[list[Column]]:
    """The columns of a part's sums as a layout writes them, up to the one at which a sum has ended.

    Operands of different lengths are listed apart where the layout shows these lengths.
    """
    facts = layout_facts(layout)
    if facts.with_steps or not facts.tells_significance:
        raise InputError(f"in layout {layout!r} a sum is not written digit by digit from its lowest one")
    every = range(1, part.length + 1)
    if facts.fixed_width:
        assert width is not None and width >= part.length
        yield [*(_column(part, position) for position in range(1, width + 1)), ABSENT]
    elif facts.levels_answers:
        yield [*(_column(part, position) for position in every), ABSENT, ABSENT]
    else:
        for lengths in product(every, every):
            single = Part.of_lengths(*lengths, part.base)
            if single.is_inside(part):
                yield [*(_column(single, position, lengths) for position in every), ABSENT, ABSENT]


def _column(part: Part, position: int, lengths: tuple[int, int] | None = None) -> Column:
    """Without lengths, columns above an operand hold zeros."""
    a_length, b_length = lengths or (position, position)
    return [
        (a if position <= a_length else None, b if position <= b_length else None)
        for a, b in part.column(position)
    ]
