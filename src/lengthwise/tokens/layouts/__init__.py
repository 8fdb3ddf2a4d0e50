"""Layouts: how a problem is written as tokens, and what is known of each token.

>>> from lengthwise.tokens.digits import from_ints
>>> for name in LAYOUTS:
...     layout = build_layout(name, Task.parse("add"), operand_width=3)
...     ids = layout.encode(*(from_ints([n], 3, 10) for n in (12, 345, 357))).ids
...     print(f"{name:10} {layout.render(ids[0])}")
padded     [bos]012+345=7530;[eos]
aligned    [bos]210+543=7530;[eos]
descending [bos]012+345=0357;[eos]
reversed   [bos]21+543=753;[eos]
level      [bos]210+543=7530;[eos]
plain      [bos]12+345=357;[eos]
scratchpad [bos]210+543=700500300=7530;[eos]
>>> layout = build_layout("padded", Task.parse("add"), operand_width=3)
>>> layout.read_answer([7, 5, 3, 0, 12, 14])
357
>>> layout.read_answer([7, 5, 3, 10, 12, 14])
Malformed(reason="'+' stands where digit 4 of the answer should")
"""

from collections.abc import Callable

from lengthwise.arithmetic import Task
from lengthwise.errors import unknown
from lengthwise.registry import Registry
from lengthwise.tokens.layouts.fixed_width import aligned, descending, padded, scratchpad
from lengthwise.tokens.layouts.layout import Layout
from lengthwise.tokens.layouts.natural_length import all_reversed, level, plain

LAYOUTS: Registry[Callable[[Task, int, int], Layout]] = Registry(
    "layouts",
    {
        "padded": padded,
        "aligned": aligned,
        "descending": descending,
        "reversed": all_reversed,
        "level": level,
        "plain": plain,
        "scratchpad": scratchpad,
    },
    implementations=True,
)
"""Functions that build a layout from a task and both widths. A new layout is registered here and in
`theory.encodings.LAYOUT_FACTS`."""


def build_layout(name: str, task: Task, operand_width: int, answer_width: int | None = None) -> Layout:
    """A layout by name. By default the answer width fits every answer of operands of the given width."""
    if name not in LAYOUTS:
        raise unknown("layout", name, LAYOUTS)
    needed = task.answer_digits(operand_width)
    return LAYOUTS[name](task, operand_width, needed if answer_width is None else answer_width)
