"""`12+345=357` is written `345+012=7530`: b before a, the answer reversed, all padded."""

from lengthwise.arithmetic import Task
from lengthwise.tokens.layouts.fixed_width import FixedWidth
from lengthwise.tokens.layouts.layout import BOS, END, EOS, EQUALS, OPERATOR, A, B, C, number, symbol


def swapped(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    places = [
        symbol(BOS),
        *number(B, operand_width, natural=True),
        symbol(OPERATOR),
        *number(A, operand_width, natural=True),
        symbol(EQUALS),
        *number(C, answer_width),
        symbol(END),
        symbol(EOS),
    ]
    return FixedWidth(task, operand_width, answer_width, places)
