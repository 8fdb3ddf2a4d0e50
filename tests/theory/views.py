"""What the local rule of addition reads, listed for whole domains without enumerating pairs (docs/theory.md, 10).

If training shows every view that occurs in longer operands, the training data determine the rule for them.
"""

from itertools import product
from typing import NamedTuple

from lengthwise.arithmetic import Part
from lengthwise.theory.encodings import layout_facts


class View(NamedTuple):
    """The column below, the digit written there, and the current column. A digit is None where the layout has
    none: above an operand, above the fixed width, or below the lowest digit."""

    a_below: int | None
    b_below: int | None
    written: int | None
    a: int | None
    b: int | None


def next_digit(view, base):
    """The next digit by the local rule. Absent digits count as zero."""
    a_below, b_below, written, a, b = (digit or 0 for digit in view)
    return (a + b + (a_below + b_below > written)) % base


def unseen_views(train, test, layout, width=None):
    """The views that occur while sums of the test domain are written, and never in training."""
    return local_views(test, layout, width) - local_views(train, layout, width)


def local_views(domain, layout, width=None):
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


ABSENT = [(None, None)]
AFTER_THE_END = View(None, None, 0, None, None)
"""A zero above both operands is written only in layouts with answers of equal width; elsewhere the sum has
ended."""


def _views(columns, base):
    """All views of these columns. Digits are independent between columns; carries follow from the columns
    below."""
    below, carries = {(None, None, None)}, {0}
    for column in columns:
        yield from (View(*under, *pair) for under, pair in product(below, column))
        sums = [((a or 0) + (b or 0) + carry, a, b) for (a, b), carry in product(column, carries)]
        below = {(a, b, total % base) for total, a, b in sums}
        carries = {total // base for total, _, _ in sums}


def _written_columns(part, layout, width):
    """The columns of a part's sums as a layout writes them, up to the column where a sum has ended.

    Operands of different lengths are listed separately where the layout shows their lengths.
    """
    facts = layout_facts(layout)
    assert facts.lowest_first and not facts.with_steps
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


def _view_column(part, position, lengths):
    """The digit pairs of a column: None above these lengths, zeros between an operand's digits and its length."""
    a_shown, b_shown = (position <= length for length in lengths)
    return [(a if a_shown else None, b if b_shown else None) for a, b in part.column(position)]
