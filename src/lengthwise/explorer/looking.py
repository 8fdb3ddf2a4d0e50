"""A look inside: the answer that is looked into, what it attended to, and up to what length that is allowed."""

import time
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.evaluation.attention import Layer, watch
from lengthwise.explorer.asking import Sheet, spell
from lengthwise.explorer.bounds import LEAST_ATTENTION, LOOK_SECONDS, MAX_DEPENDENCE_TOKENS
from lengthwise.explorer.refusal import RefusedError

AT_ONCE = 128
"""Tokens whose attention is computed together: of a long problem all at once would fill the memory."""


class Attended(NamedTuple):
    """Of each place that wrote a token, the attention to all tokens [A, T], and what counts for nothing [A]."""

    tokens: Tensor
    nothing: Tensor


def answer_within(problem: Sheet, most: int, computing: Lock) -> list[int]:
    """The tokens of the answer to a problem that has, with them, at most so many."""
    answer, end = list[int](), time.monotonic() + LOOK_SECONDS
    for written in spell(problem, computing):
        answer.append(written.token)
        if problem.prompt_length + len(answer) > most:
            raise RefusedError(_too_long(problem, most))
        if time.monotonic() > end:
            raise RefusedError(f"this model is too slow for a look inside: allowed are {LOOK_SECONDS:g} s")
    return answer


def no_dependence(problem: Sheet, answer: list[int]) -> str | None:
    """Why the digits of an answer are not replaced one by one, where they are not."""
    tokens = problem.prompt_length + len(answer)
    return _too_long(problem, MAX_DEPENDENCE_TOKENS) if tokens > MAX_DEPENDENCE_TOKENS else None


def _too_long(problem: Sheet, most: int) -> str:
    layout = problem.run.parts.layout
    why = (
        f"this model reads {layout.operand_width} digits of each number, however short"
        if layout.fixed_width
        else "these numbers are long"
    )
    return f"{why}, and more than {most:,} tokens, read and written together, take too long here"


def attended(problem: Sheet, answer: list[int], computing: Lock) -> list[Attended]:
    """Of each layer, the attention of the places that wrote the answer, averaged over heads."""
    ids, positions = problem.sequence(answer)
    with computing:
        _, layers = watch(problem.run.parts.model, ids, positions)
        return [_rows(layer, problem.prompt_length - 1, ids.shape[-1] - 1) for layer in layers]


def _rows(layer: Layer, first: int, last: int) -> Attended:
    """The token at place t was written by the place before it."""
    rows = list[Tensor]()
    for start in range(first, last, AT_ONCE):
        some = layer.some(start, min(start + AT_ONCE, last)).weights()[0, 0].mean(0)
        rows.append(functional.pad(some, (0, layer.tokens - some.shape[-1])))
    weights = torch.cat(rows)
    return Attended(weights, (1 - weights.sum(-1)).clamp(min=0))


def noticeable(weights: Tensor) -> list[list[tuple[int, float]]]:
    """For each row of [A, T], the places whose weight can be seen on a page, with it."""
    rows: list[list[tuple[int, float]]] = [[] for _ in weights]
    for row, place in (weights >= LEAST_ATTENTION).nonzero().tolist():
        rows[row].append((place, round(float(weights[row, place]), 4)))
    return rows
