"""Problems one after another without padding: `123+45=168;267+1=268;2` instead of a line for each.

Every problem is written as its layout does, [bos] and [eos] included, so that a prompt of evaluation looks
like the beginning of one in training. The last problem is cut where the sequence ends. Attention reaches back
over all problems of a sequence.

Shapes: M members, B sequences, K problems that surely fill one, T tokens of a problem, L of a sequence.
"""

from lengthwise.tokens.layouts import Tokens, squeezed


def concatenated(tokens: Tokens, count: int, length: int, line_break: int) -> Tokens:
    """Problems [M, B K, T] as sequences [M, B, L] of `length` tokens, K = `count` problems for each.

    The prompt is that of the first problem.
    """
    *parts, prompt_length = (part.unflatten(1, (-1, count)) for part in tokens.spread())
    ids, answer, significance, number = (part.flatten(2, 3) for part in parts)
    order = squeezed(ids != line_break, length)
    return Tokens(
        ids=ids.gather(-1, order),
        answer=answer.gather(-1, order),
        significance=significance.gather(-1, order),
        number=number.gather(-1, order),
        prompt_length=prompt_length[..., 0],
    )
