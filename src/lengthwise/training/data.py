"""Batches for a stack: problems of each member's own stream, with their answers, as tokens at positions.

Step k of a member with batch size B meets rows k B .. k B + B - 1 of its stream: nothing else is remembered,
so a run resumes by its step number alone. A row is a problem, or K problems where these are concatenated.

Shapes: M members, B rows, K problems of a row, T tokens.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError
from lengthwise.model.positions.encoding import Encoding, has_position, number_tokens
from lengthwise.tokens import DataConfig
from lengthwise.tokens.digits import Answers
from lengthwise.tokens.hashing import Draws, below, member_keys
from lengthwise.tokens.layouts.layout import Layout, Tokens
from lengthwise.tokens.layouts.natural_length import squeezed
from lengthwise.tokens.sampling import FixedSet, Sampler, Stream

ROW_PROBLEMS = 4
"""How many problems of the longest kind fit into a row by default, where problems are concatenated."""

TURNS = 3
"""The problem of a row that stands as in evaluation is the first, the second or the third of it."""


class Batch(NamedTuple):
    ids: Tensor
    """[M, B, T]"""
    positions: Tensor
    """[M or 1, B or 1, T]"""
    answer: Tensor
    """Which tokens are to be produced; broadcasts to [M, B, T]."""
    problem: Tensor | None
    """[M, B, T]: which problem of its row a token is of, where there are several."""
    tail: int
    """How many tokens there are from the first answer token of any problem on."""


class TrainingData:
    """Called with the index of a first row, an int or a device scalar, gives the batch from there on."""

    def __init__(
        self,
        members: Sequence[Stream],
        tasks: Sequence[Task],
        layout: Layout,
        encoding: Encoding,
        *,
        config: DataConfig,
        batch: int,
        offsets: int,
        device: torch.device,
    ) -> None:
        self.layout, self.encoding = layout, encoding
        self.length, self.per_row = row_length(layout, config), problems_per_row(layout, config)
        self.circle = 0
        if offsets > 1 and self.per_row > 1 and encoding.numbers_each_problem:
            # All rows but 0. Were there no circle, the first and the last rows of a large table would come up in
            # few problems and stay untrained, and it is from the first that every evaluation starts.
            assert encoding.rows is not None, "an offset of its own is one of a table"
            self.circle = encoding.rows - 1
        self.offsets = self.circle or offsets
        self.own_range = config.own_offset_range and offsets > 1
        self.tail = self.length - int(shortest_problem(layout).prompt_length)
        width, mode = layout.operand_width, config.sampling
        self.sets: list[FixedSet] = []
        """The fixed set of problems that each member draws from; none where every problem is new."""
        if config.samples is None:
            sparse = config.sparse_digits
            self.sampler = Sampler(members, width, mode=mode, sparse=sparse, side="train", device=device)
        else:
            self.sets = [FixedSet(m, config.samples, width, mode=mode, device=device) for m in members]
        self.answers = Answers(tasks, layout.answer_width)
        self.within_batch = torch.arange(batch, device=device)
        self.within_row = torch.arange(self.per_row, device=device)
        self.offset_keys = member_keys([m.seed for m in members], "offset", device)

    def __call__(self, first: int | Tensor) -> Batch:
        rows = self.within_batch + first
        problems = (rows.unsqueeze(-1) * self.per_row + self.within_row).flatten()
        if self.sets:
            a, b = map(torch.stack, zip(*(fixed.batch(problems) for fixed in self.sets), strict=True))
        else:
            a, b = self.sampler(problems)
        tokens = self.layout.encode(a, b, self.answers(a, b))
        problem = None
        if self.per_row > 1:
            tokens = concatenated(tokens, self.per_row, self.length, self.layout.vocabulary.line_break)
            problem = (tokens.ids == self.layout.vocabulary.bos).cumsum(-1) - 1
        offset = None if self.offsets == 1 else self._offset(rows, problems, problem, tokens)
        positions = number_tokens(self.encoding, tokens.significance, tokens.number, offset)
        if self.circle:  # what runs beyond the last row goes on at row 1
            positions = torch.where(has_position(positions), (positions - 1) % self.circle + 1, 0)
        return Batch(tokens.ids, positions, tokens.answer, problem, self.tail)

    def _offset(self, rows: Tensor, problems: Tensor, problem: Tensor | None, tokens: Tokens) -> Tensor:
        """Of each row [M, B, 1], or, where every problem has its own, of each token [M, B, T].

        Where only distances matter, one problem of such a row stands where evaluation puts every problem: from it
        a token without a position, as `=` of abacus, learns where numbers begin. Before it stand none, one or two
        others, by turns, so that such tokens meet all other positions too. Of a learned table, the rows used there
        would be learned apart from all others.
        """
        if not self.circle or problem is None:
            offsets: int | Tensor = self.offsets
            if self.own_range:  # [M, B]: with how many of them each problem fits the table
                assert self.encoding.rows is not None, "an offset is one of a table"
                longest = number_tokens(self.encoding, tokens.significance, tokens.number).amax(-1)
                offsets = self.encoding.rows - longest
            return below(Draws(self.offset_keys, rows)(0), offsets).unsqueeze(-1)
        of_problems = below(Draws(self.offset_keys, problems)(0), self.offsets)
        own = of_problems.unflatten(1, (-1, self.per_row)).gather(-1, problem)
        as_tested = problem == (rows % TURNS).unsqueeze(-1)
        return torch.where(as_tested, 0, own) if self.encoding.shift_invariant else own


def concatenated(tokens: Tokens, count: int, length: int, line_break: int) -> Tokens:
    """Problems [M, B K, T] one after another without padding, as rows [M, B, L] of `length` tokens, K = `count`
    problems for each: `123+45=168;267+1=268;2` instead of a line for each.

    Every problem is written as its layout does, [bos] and [eos] included, so that a prompt of evaluation looks
    like the beginning of one in training. The last problem is cut where the row ends. Attention reaches back over
    all problems of a row.
    """
    parts = Tokens(*(part.unflatten(1, (-1, count)).flatten(2, 3) for part in tokens.spread()))
    order = squeezed(parts.ids != line_break, length)
    return Tokens(*(part.gather(-1, order) for part in parts))


def shortest_problem(layout: Layout) -> Tokens:
    zero = torch.zeros(1, 1, dtype=torch.int8)
    return layout.encode(zero, zero, zero).spread()


def row_length(layout: Layout, config: DataConfig) -> int:
    """Tokens of a training row."""
    if config.packing == "lines":
        return layout.length
    length = config.row_tokens or ROW_PROBLEMS * layout.length
    if length < layout.length:
        raise InputError(f"row_tokens {length} is less than the longest problem ({layout.length} or more)")
    return length


def problems_per_row(layout: Layout, config: DataConfig) -> int:
    """Problems drawn for a row: enough to fill it, be they the shortest."""
    if config.packing == "lines":
        return 1
    shortest = shortest_problem(layout)
    return -(-row_length(layout, config) // int(shortest.prompt_length + shortest.answer.sum()))
