"""Problems one after another without padding: `123+45=168;267+1=268;2` instead of a line for each.

Every problem is written as its layout does, [bos] and [eos] included, so that a prompt of evaluation looks
like the beginning of one in training. The last problem is cut where the sequence ends. Attention reaches back
over all problems of a sequence.

Shapes: M members, B sequences, K problems that surely fill a sequence, T tokens of a problem, L of a sequence.
"""

from torch import Tensor

from lengthwise.tokens.layouts import Tokens, squeezed


def concatenated(tokens: Tokens, count: int, length: int, line_break: int) -> Tokens:
    """Problems [M, B K, T] as sequences [M, B, L] of `length` tokens, K = `count` problems for each."""
    prompt_length = tokens.spread().prompt_length.unflatten(1, (-1, count))[..., 0]
    ids, answer, significance, number = (_rows(part, count) for part in tokens.spread()[:4])
    order = squeezed(ids != line_break, length)
    cut = (part.gather(-1, order) for part in (ids, answer, significance, number))
    return Tokens(*cut, prompt_length=prompt_length)


def _rows(part: Tensor, count: int) -> Tensor:
    return part.unflatten(1, (-1, count)).flatten(2, 3)
