"""Interventions: what the digits of a model's answers depend on, measured by replacing digits, moving problems to
other positions, or hiding digits from attention.

**Dependence** is how often replacing an operand digit changes an answer digit. `theory.accuracy` has the exact
shares of a hypothesis, and `records.analysis` compares the two. Both operands have `length` uniformly random,
independent digits, including zeros. For each digit j of a the same problems are decoded again with that digit
replaced by one of the base - 1 others, all equally likely.

**Dynamics** is how each answer digit is learned, measured at every evaluation; `theory.columns` has the ceiling
that a perfect adder reaches. For each answer digit i there are problems of the member's training domain (held-out
pairs, if it has any) whose digits of columns i-1, i and i+1 are replaced, in both operands, by uniformly random
ones. A decision tree learns from half of them what the model writes at i, given

    x = (a_i + b_i) mod base   and   y = (a_{i-1} + b_{i-1}) div base,

and R2 is the share of that digit's variance that it explains on the other half. The digit is the model's own, from
decoding, so R2 measures how regular the model is, right or wrong, also with a modulus. Where a digit is the same
in all of these problems, R2 is undefined and there is no record.

**After a changed digit**: does a model find a carry in the operands, or read it off the answer digit that it has
just written (`theory.hypotheses`, the local rule)? It reads the right answer to a sum with one digit replaced.

*Flipped*: in a column whose digits sum to base - 1, a carry leaves exactly if one enters, and the digit written, 0
or base - 1, tells. It is replaced by the other of the two. The next digit then follows the digit read (`local`),
or the operands (`truth`), or neither. Other digits would not do: no true sum has them there, so training does not
say what they mean. In the lowest column, where no carry enters, a 0 is such a digit; yet it is put there too.

*The map of carries* shows just that: a random column has a random digit. For each sum of a column's two digits and
each digit read there, how often does the next digit have a carry?

**Offsets**: the same problems at offsets evenly spaced over the position table, of which training draws one at
random and tests use the first. Once as they are, and once with *near digits* alone: no digit or sign attends to a
digit that is further away than two digits of one operand are in training; signs stay visible.

Shapes: M members, N problems, J = `length` digits of a, I answer digits, W operand digits, A answer digits, Q
queries, K keys.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from lengthwise.arithmetic import Domain
from lengthwise.evaluation.decode import written_digits
from lengthwise.evaluation.measure import Row, digit_places, read_answers, right_answers, row_makers
from lengthwise.evaluation.problems import (
    CHANGE_START,
    DEPENDENCE_START,
    Drawing,
    Pair,
    Problems,
    Subject,
)
from lengthwise.model.gpt import GPT
from lengthwise.model.positions.encoding import Encoding, Relation, has_position
from lengthwise.records.schema import Record
from lengthwise.theory.hypotheses import TRUTH
from lengthwise.tokens.digits import resize
from lengthwise.tokens.hashing import DRAWS_PER_PROBLEM, below

OFFSETS = 10
"""Number of offsets at which problems are repeated."""
AROUND = 3
"""Columns that dynamics replaces: that of the digit, one below and one above."""
FRESH = DRAWS_PER_PROBLEM - 2 * AROUND
"""The first of the draws for these, which no sampler uses."""


def measure_dependence(subject: Subject, drawing: Drawing, length: int) -> Iterator[Record]:
    """A record for each answer digit i and operand digit j: how many answers change at i."""
    a, b = dependence_problems(drawing, length)
    problems = Problems(f"digits:{length}", a.flatten(1, 2), b.flatten(1, 2), "sampled")
    written = written_digits(subject, problems.pair).unflatten(1, a.shape[1:3])
    changed = (written[:, 1:] != written[:, :1]).sum(2).tolist()
    for make, table in zip(row_makers(subject.members, problems), changed, strict=True):
        for j, counts in enumerate(table, start=1):
            for i, count in enumerate(counts, start=1):
                yield make(mode="decoded", metric=f"depends:{i}:{j}", correct=count, total=drawing.count)


def dependence_problems(drawing: Drawing, length: int) -> Pair:
    """Operands [M, 1 + J, N, W]: the problems as they are, then with each digit of a replaced."""
    base, draws = drawing.base, drawing.draws(drawing.indices(DEPENDENCE_START))
    a, b = (below(draws.several(first, length), base).movedim(0, -1).to(torch.int8) for first in (0, length))
    steps = 1 + below(draws.several(2 * length, length), base - 1).movedim(0, -1)
    others = ((a + steps) % base).to(torch.int8)
    replaced = [torch.cat([a[..., :j], others[..., j : j + 1], a[..., j + 1 :]], -1) for j in range(length)]
    every_a = torch.stack([a, *replaced], 1)
    return resize(every_a, drawing.width), resize(b.unsqueeze(1).expand_as(every_a), drawing.width)


def measure_dynamics(subject: Subject, drawing: Drawing) -> Iterator[Record]:
    """R2 of each digit that training fills and that both operands and answers have."""
    members = subject.members
    filled = 1 + max(member.train.length for member in members)
    digits = min(filled, drawing.width, subject.layout.answer_width)
    a, b = dynamics_problems(drawing, [member.train for member in members], digits)
    problems = Problems("digits drawn anew", a.flatten(1, 2), b.flatten(1, 2), "sampled")
    written = written_digits(subject, problems.pair).unflatten(1, a.shape[1:3])
    makers, total = row_makers(members, problems), drawing.count - drawing.count // 2
    for k, (make, member) in enumerate(zip(makers, members, strict=True)):
        for i, value in _each_r2(a[k], b[k], written[k], drawing.base):
            yield make(mode="decoded", domain=str(member.train), metric=f"r2:{i}", value=value, total=total)


def dynamics_problems(drawing: Drawing, domains: Sequence[Domain], digits: int) -> Pair:
    """Operands [M, I, N, W]: problems i N .. i N + N - 1 of each member's evaluation stream are for digit i."""
    indices = torch.arange(digits * drawing.count, device=drawing.device)
    draws = drawing.draws(indices).several(FRESH, 2 * AROUND)
    fresh = below(draws, drawing.base).to(torch.int8).unflatten(0, (2, AROUND)).movedim(1, -1)
    offset = torch.arange(drawing.width, device=drawing.device) - (indices // drawing.count).unsqueeze(-1) + 1
    around, offset = (offset >= 0) & (offset < AROUND), offset.clamp(0, AROUND - 1)
    sampled = drawing.sample(domains, indices, side="test")
    a, b = (
        torch.where(around, new.gather(-1, offset.expand_as(operand)), operand).unflatten(1, (digits, -1))
        for operand, new in zip(sampled, fresh, strict=True)
    )
    return a, b


class Sums(NamedTuple):
    """Operands [M, N, W] of `length` digits at most, and right answers [M, N, A]."""

    a: Tensor
    b: Tensor
    answers: Tensor
    base: int
    length: int

    @classmethod
    def draw(cls, subject: Subject, drawing: Drawing, domain: Domain) -> "Sums":
        a, b = drawing.operands(str(domain), drawing.indices(CHANGE_START))
        return cls(a, b, subject.answers([TRUTH] * len(a), (a, b)), drawing.base, domain.length)

    def random_order(self, drawing: Drawing) -> Tensor:
        """Random numbers [M, N, length - 1] that order the columns below the top one."""
        draws = drawing.draws(drawing.indices(CHANGE_START))
        return draws.several(DRAWS_PER_PROBLEM // 2, self.length - 1).movedim(0, -1)

    def replaced(self, column: Tensor, read: Tensor) -> "Changed":
        answers = self.answers.scatter(-1, column.unsqueeze(-1), read.unsqueeze(-1).to(self.answers.dtype))
        sums = self.a.long() + self.b.long()
        return Changed(answers, column, _at(sums, column), read, _at(sums, column + 1) % self.base)


class Changed(NamedTuple):
    """Answers [M, N, A] with the digit of one column replaced; all else is [M, N]."""

    answers: Tensor
    column: Tensor
    """0 is the lowest."""
    sums: Tensor
    """The sum of the column's digits in the operands."""
    read: Tensor
    """The digit that is read there."""
    following: Tensor
    """The digit of the next column if no carry enters it."""


def measure_changed(subject: Subject, drawing: Drawing, domain: Domain) -> Iterator[Record]:
    """Two records for each member: how often the digit after a flipped one follows the local rule, and how often
    the truth."""
    sums = Sums.draw(subject, drawing, domain)
    changed, flips = flipped(sums, drawing)
    carry, none = next_carries(subject, sums, changed)
    told = changed.read == 0
    for k, make in enumerate(row_makers(subject.members, Problems(str(domain), sums.a, sums.b, "sampled"))):
        for reference, with_carry in (("local", told[k]), ("truth", ~told[k])):
            correct = int(torch.where(with_carry, carry[k], none[k])[flips[k]].sum())
            yield make(metric="after_change", reference=reference, correct=correct, total=int(flips[k].sum()))


def flipped(sums: Sums, drawing: Drawing) -> tuple[Changed, Tensor]:
    """The digit of a random column whose digits sum to base - 1 replaced by that of the other carry; and whether
    there is such a column: if not, the answer is unchanged."""
    passes = (sums.a + sums.b)[..., : sums.length - 1] == sums.base - 1
    column = sums.random_order(drawing).masked_fill(~passes, -1).argmax(-1)
    written, found = _at(sums.answers, column), passes.any(-1)
    return sums.replaced(column, torch.where(found, sums.base - 1 - written, written)), found


def measure_carry_map(subject: Subject, drawing: Drawing, domain: Domain) -> Iterator[Record]:
    """A record for each sum of a column's digits and each digit read there: how many next digits have a carry."""
    sums = Sums.draw(subject, drawing, domain)
    changed = with_random_digits(sums, drawing)
    carry, _ = next_carries(subject, sums, changed)
    cell, cells = changed.sums * sums.base + changed.read, (2 * sums.base - 1) * sums.base
    for k, make in enumerate(row_makers(subject.members, Problems(str(domain), sums.a, sums.b, "sampled"))):
        carries, totals = (torch.bincount(own, minlength=cells).tolist() for own in (cell[k][carry[k]], cell[k]))
        for place, (correct, total) in enumerate(zip(carries, totals, strict=True)):
            if total:
                column, read = divmod(place, sums.base)
                yield make(metric=f"carry_after:{column}:{read}", correct=correct, total=total)


def with_random_digits(sums: Sums, drawing: Drawing) -> Changed:
    """The digit of a random column below the top one replaced by a random one, perhaps the same."""
    read = below(drawing.draws(drawing.indices(CHANGE_START))(DRAWS_PER_PROBLEM - 1), sums.base)
    return sums.replaced(sums.random_order(drawing).argmax(-1), read)


def _at(digits: Tensor, column: Tensor) -> Tensor:
    return digits.gather(-1, column.unsqueeze(-1)).squeeze(-1).long()


def next_carries(subject: Subject, sums: Sums, changed: Changed) -> tuple[Tensor, Tensor]:
    """Whether the next digit is that with a carry, and whether it is that without: bool [M, N] each."""
    said = next_digits(subject, (sums.a, sums.b), changed)
    return said == (changed.following + 1) % sums.base, said == changed.following


@torch.no_grad()
def next_digits(subject: Subject, problem: Pair, changed: Changed) -> Tensor:
    """The most likely token [M, N] in the column above the replaced digit."""
    found: list[Tensor] = []
    for a, b, answers, column in subject.chunks(*problem, changed.answers, changed.column):
        logits, tokens = read_answers(subject, a, b, answers)
        place = digit_places(tokens, answers.shape[-1])[0].gather(-1, column.unsqueeze(-1) + 1)
        found.append(logits.argmax(-1).gather(-1, place).squeeze(-1))
    return torch.cat(found, 1)


def _each_r2(a: Tensor, b: Tensor, written: Tensor, base: int) -> Iterator[tuple[int, float]]:
    """Digits i, from 1, and their R2, for operands [I, N, W] and answers [I, N, A]."""
    sums = (a + b).cpu().numpy()
    answers = written.cpu().numpy()
    for i in range(len(sums)):
        carries = sums[i, :, i - 1] // base if i else np.zeros(len(sums[i]), dtype=np.int8)
        value = out_of_sample_r2(np.stack([sums[i, :, i] % base, carries], axis=1), answers[i, :, i])
        if value is not None:
            yield i + 1, value


def out_of_sample_r2(features: npt.NDArray[np.int8], digits: npt.NDArray[np.int64]) -> float | None:
    """R2 on the second half of a tree fitted to the first; None where one half has only one digit."""
    # Imported here: no other measurement needs it, and it takes a second.
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    half = len(digits) // 2
    if min(np.ptp(digits[:half]), np.ptp(digits[half:])) == 0:
        return None
    tree = DecisionTreeRegressor(random_state=0).fit(features[:half], digits[:half])
    return float(tree.score(features[half:], digits[half:]))


# --- at other positions -------------------------------------------------------------------------------------


def measure_offsets(subject: Subject, rows: Sequence[Row]) -> Iterator[Record]:
    """Exact match by offset, from 0 to the last with which all problems of a row fit; and the same with near
    digits alone, for models that attend by content."""
    model = cast(GPT, subject.model)
    reach = torch.tensor([member.train.length - 1 for member in subject.members], device=model.device)
    for row in rows:
        problems, makers = row.problems.pair, row_makers(subject.members, row.problems)
        for offset in _spaced_offsets(subject, row):
            moved = replace(subject, offset=offset)
            found = {"exact_at": right_answers(moved, problems, row.truth)}
            if not model.config.place_attention:
                with near_digits_alone(model, reach, _sign(moved)):
                    found["near_at"] = right_answers(moved, problems, row.truth)
            for metric, right in found.items():
                for make, correct in zip(makers, right.sum(1).tolist(), strict=True):
                    yield make(metric=f"{metric}:{offset}", correct=correct)


def _spaced_offsets(subject: Subject, row: Row) -> list[int]:
    """At most OFFSETS of those with which all problems of a row fit into the table, evenly spaced."""
    assert subject.encoding.rows is not None, "an offset is one of a table"
    _, positions = subject.read(*row.problems.pair, row.truth)
    last = subject.encoding.rows - 1 - int(positions.max())
    return sorted({round(last * k / (OFFSETS - 1)) for k in range(OFFSETS)})


def _sign(subject: Subject) -> int:
    """The position of the operator and `=`, 0 where these have none."""
    index, significance, number, offset = torch.tensor([[0], [0], [0], [subject.offset]])
    return int(subject.encoding.locate(index, significance, number, offset))


@contextmanager
def near_digits_alone(model: GPT, reach: Tensor, sign: int) -> Iterator[None]:
    """Hide from tokens with a position the digits more than `reach` [M] positions away; `sign` is the position of
    signs, which stay visible."""
    encoding = model.encoding
    model.encoding = cast(Encoding, _NearDigits(encoding, reach, sign))
    try:
        yield
    finally:
        model.encoding = encoding


class _NearDigits(nn.Module):
    """What a model asks of its encoding, with far digits hidden from attention."""

    def __init__(self, encoding: Encoding, reach: Tensor, sign: int) -> None:
        super().__init__()
        self.encoding, self.reach, self.sign = encoding, reach.view(-1, 1, 1, 1), sign

    def embed(self, positions: Tensor) -> Tensor | None:
        return self.encoding.embed(positions)

    def relate(self, queries: Tensor, keys: Tensor) -> tuple[Relation, Tensor]:
        """What attention needs anyway, and [M, B or 1, 1, Q, K], minus infinity for far digits."""
        far = (queries.unsqueeze(-1) - keys.unsqueeze(-2)).abs() > self.reach
        is_digit = has_position(keys) & (keys != self.sign)
        hidden = far & has_position(queries).unsqueeze(-1) & is_digit.unsqueeze(-2)
        return self.encoding.relate(queries, keys), torch.where(hidden, -torch.inf, 0.0).unsqueeze(2)

    def attend(self, q: Tensor, k: Tensor, relation: tuple[Relation, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        q, k, bias = self.encoding.attend(q, k, relation[0])
        return q, k, relation[1] if bias is None else bias + relation[1]
