"""Exact match by kind of problem: by longest carry chain, by both operand lengths, and on special sets.

Everything here is scored by teacher forcing, after training. A carry chain is a column whose digits sum to the
base or more, and the columns directly above it that sum to base - 1 (`theory.columns`). The special sets are sums
with one short operand, with a carry through the whole number, with carries at every other digit, and of operands
that repeat one digit, have a run of zeros, or are mostly zeros:

>>> from lengthwise.tokens.digits import to_ints
>>> drawing = Drawing(seeds=[0], width=5, base=10, count=3, device=torch.device("cpu"))
>>> problems = carry(drawing, length=4)
>>> to_ints(problems.a, 10), to_ints(problems.b, 10)
([9999, 1, 7586], [1, 9999, 2415])

Shapes: M members, N problems, W operand digits, A answer digits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain
from lengthwise.arithmetic.domain import MAKE, free_columns
from lengthwise.evaluation.measure import Row, agreement, record_maker, right_answers
from lengthwise.evaluation.problems import (
    CHAIN_START,
    PAIR_START,
    SET_START,
    Drawing,
    Pair,
    Problems,
    Selection,
    Subject,
)
from lengthwise.evaluation.seen import chance_seen
from lengthwise.records.schema import Record
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.chains import LONGEST, longest_chain
from lengthwise.tokens.digits import from_ints, resize
from lengthwise.tokens.hashing import DRAWS_PER_PROBLEM, below

PAIR_LENGTHS = 30
"""Most lengths of an operand in the grid of pairs."""

SHORT = 10
"""In the set `lopsided` one operand has at most a tenth of the other's digits."""
SPARSE = 10
"""In the set `sparse` one in ten digits below the top one is not zero."""


@dataclass(frozen=True)
class Strata:
    """Problems of several kinds."""

    problems: Problems
    kind: Tensor
    """int64 [M or 1, N]: the stratum of each problem."""
    strata: Sequence[tuple[str, str]]
    """The domain and metric of each stratum in records."""
    predicted: Sequence[Hypothesis | None]
    """The predicted hypothesis of each member."""
    further: Sequence[Hypothesis] = ()
    """Hypotheses that answers are compared with besides truth and the predicted one."""


def measure_strata(subject: Subject, several: Sequence[Strata]) -> Iterator[Record]:
    """A record for each member, stratum that occurs, and reference: truth, the predicted hypothesis if it differs,
    and further ones."""
    for strata in several:
        problems = strata.problems
        row = Row.of(subject, problems, strata.predicted)
        right = [right_answers(subject, problems.pair, answers) for answers in row.answers]
        further = agreement(subject, row, strata.further, of_truth=right[0])
        for k, member in enumerate(subject.members):
            # If theory predicts truth for a member, both keys are the same.
            compared = {
                **{str(hypothesis): matches[k] for hypothesis, matches in further.items()},
                str(TRUTH): right[0][k],
                str(row.hypotheses[k]): right[-1][k],
            }
            make = partial(record_maker(member), selection=problems.selection)
            yield from _counts(make, strata, k, compared, chance_seen(member, problems.a[k], problems.b[k]))


def _counts(
    make: partial[Record], strata: Strata, k: int, compared: Mapping[str, Tensor], seen: Tensor
) -> Iterator[Record]:
    """The records of member k, from the masks [N] of answers that match each reference."""
    kind, number = strata.kind.expand(len(strata.problems.a), -1)[k], len(strata.strata)
    totals = torch.bincount(kind, minlength=number).tolist()
    shares = torch.bincount(kind.to(seen.device), seen, number).tolist()
    for reference, matches in compared.items():
        correct = torch.bincount(kind[matches], minlength=number).tolist()
        for i, (domain, metric) in enumerate(strata.strata):
            if totals[i]:
                yield make(
                    domain=domain,
                    reference=reference,
                    metric=metric,
                    correct=correct[i],
                    total=totals[i],
                    seen=round(shares[i] / totals[i], 6),
                )


# --- by longest carry chain ---------------------------------------------------------------------------------


def chain_strata(rows: Sequence[Row], drawing: Drawing, further: Sequence[Hypothesis] = ()) -> list[Strata]:
    """The domains of rows by longest carry chain.

    A domain that is enumerated, too long for the sampler, or has parts such as 40x2, keeps its problems. From
    others equally many problems are drawn for every chain that occurs, as uniform ones rarely have a long one.
    """
    drawn = _with_every_chain([row.problems for row in rows if _is_drawn(row.problems)], drawing)
    return [_by_chain(drawn.get(row.problems.name, row.problems), row.hypotheses, further) for row in rows]


def _with_every_chain(asked: Sequence[Problems], drawing: Drawing) -> dict[str, Problems]:
    """The problems by name, from one sampler for all domains: most of its work is a table for the longest."""
    if not asked:
        return {}
    domains = [_domain(problems) for problems in asked for _ in drawing.seeds]
    together = replace(drawing, seeds=[*drawing.seeds] * len(asked))
    sampled = together.sample(domains, drawing.indices(CHAIN_START), mode="chains")
    pairs = zip(*(operand.unflatten(0, (len(asked), -1)) for operand in sampled), strict=True)
    return {problems.name: replace(problems, a=a, b=b) for problems, (a, b) in zip(asked, pairs, strict=True)}


def _is_drawn(problems: Problems) -> bool:
    domain = _domain(problems)
    equally_long = all(part.exact is None for part in domain.parts)
    return problems.selection == "sampled" and domain.length <= LONGEST and equally_long


def _domain(problems: Problems) -> Domain:
    assert problems.domain is not None, "carry chains are counted on domains"
    return problems.domain


def _by_chain(problems: Problems, predicted: Sequence[Hypothesis], further: Sequence[Hypothesis]) -> Strata:
    domain = _domain(problems)
    chain = longest_chain(problems.a, problems.b, domain.base).long()
    strata = [(problems.name, f"chain:{k}") for k in range(domain.length + 1)]
    return Strata(problems, chain, strata, predicted, further)


# --- by both operand lengths --------------------------------------------------------------------------------


def pair_strata(drawing: Drawing) -> Strata:
    """Problems for every pair of operand lengths up to the width, sorted by length, so that problems of similar
    length share a pass."""
    lengths = pair_lengths(drawing.width)
    pairs = [(n, m) for n in lengths for m in lengths]
    order = sorted(range(len(pairs)), key=lambda i: (max(pairs[i]), sum(pairs[i])))
    a, b = (operand[:, order].flatten(1, 2) for operand in _pair_grid(lengths, drawing))
    strata = [(f"D{max(pairs[i])}", f"pair:{pairs[i][0]}:{pairs[i][1]}") for i in order]
    kind = torch.arange(len(strata), device=drawing.device).repeat_interleave(drawing.count).unsqueeze(0)
    return Strata(Problems("pairs", a, b, "sampled"), kind, strata, [None] * len(drawing.seeds))


def pair_lengths(width: int) -> list[int]:
    """All lengths up to 30; for larger widths 1, 2, multiples of one number and the width itself, at most 30 in
    all.

    >>> pair_lengths(100)
    [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 84, 88, 92, 96, 100]
    """
    if width <= PAIR_LENGTHS:
        return list(range(1, width + 1))
    apart = -(-width // (PAIR_LENGTHS - 3))
    return sorted({1, 2, *range(apart, width, apart), width})


def _pair_grid(lengths: Sequence[int], drawing: Drawing) -> Pair:
    """Operands [M, pairs of lengths, problems of each, W]: each pair has its own problems."""
    side, count = len(lengths), drawing.count
    indices = torch.arange(PAIR_START, PAIR_START + side * side * count, device=drawing.device)
    indices = indices.view(side, side, count)
    rows_of_a: list[Tensor] = []
    columns_of_b: list[Tensor] = []
    for i, length in enumerate(lengths):
        # Both operands of B_n have n digits, and are independent of each other.
        domain = f"B{length}"
        rows_of_a.append(drawing.operands(domain, indices[i].flatten())[0].unflatten(1, (side, count)))
        columns_of_b.append(drawing.operands(domain, indices[:, i].flatten())[1].unflatten(1, (side, count)))
    return torch.stack(rows_of_a, 1).flatten(1, 2), torch.stack(columns_of_b, 2).flatten(1, 2)


# --- special sets -------------------------------------------------------------------------------------------


def lopsided(drawing: Drawing, length: int) -> Problems:
    """One operand has all digits, the other between 1 and a tenth as many, all equally likely; they alternate."""
    indices = drawing.indices(SET_START)
    long, _ = drawing.operands(f"B{length}", indices)
    _, short = drawing.operands(f"B1..{max(1, length // SHORT)}", indices)
    turn = (indices % 2 == 0).unsqueeze(-1)
    a, b = torch.where(turn, long, short), torch.where(turn, short, long)
    return Problems(f"D{length}:lopsided", a, b, "sampled")


def carry(drawing: Drawing, length: int) -> Problems:
    """99..9 + 1, 1 + 99..9, then random pairs whose lowest digits make a carry that all other columns pass on."""
    base, draws = drawing.base, drawing.draws(drawing.indices(SET_START))
    low = _choice(free_columns(base)[MAKE], draws(0))
    above = below(draws.several(1, length - 1), base).movedim(0, -1)
    handing_on = torch.stack([above, base - 1 - above])
    operands = resize(torch.cat([low, handing_on], -1).to(torch.int8), drawing.width)
    known = from_ints([base**length - 1, 1], drawing.width, base).to(drawing.device)
    for operand, first in zip(operands, (known, known.flip(0)), strict=True):
        operand[:, : len(first)] = first[: drawing.count]
    return Problems(f"D{length}:carry", operands[0], operands[1], "sampled")


def alternating(drawing: Drawing, length: int) -> Problems:
    """Both operands repeat two digits, such that from the top down columns alternately make and stop a carry:
    9090 + 9090, 909 + 909. All of these, or a sample where there are more than requested."""
    stopping, making, _ = free_columns(drawing.base)
    (make, stop), selection = _combinations(drawing, making, stopping[:1] if length == 1 else stopping)
    from_top = torch.arange(length, device=drawing.device).flip(0)
    a, b = resize(torch.where(from_top % 2 == 0, make, stop).to(torch.int8), drawing.width)
    return Problems(f"D{length}:alternating", a, b, selection)


def repeated(drawing: Drawing, length: int) -> Problems:
    """Each operand repeats one digit: 7777 + 4444. All of these, or a sample where there are more than
    requested."""
    digits = range(1, drawing.base)
    (chosen,), selection = _combinations(drawing, [*product(digits, digits)])
    a, b = resize(chosen.to(torch.int8).expand(-1, -1, -1, length), drawing.width)
    return Problems(f"D{length}:repeated", a, b, selection)


def zeros(drawing: Drawing, length: int) -> Problems:
    """Random digits with a run of zeros in both operands, half of the columns below the top one, anywhere."""
    indices = drawing.indices(SET_START)
    run = (length - 1) // 2
    first = below(drawing.draws(indices)(DRAWS_PER_PROBLEM - 1), length - run).unsqueeze(-1)
    column = torch.arange(drawing.width, device=drawing.device)
    return _zeroed("zeros", drawing, length, (column >= first) & (column < first + run) & (column < length - 1))


def sparse(drawing: Drawing, length: int) -> Problems:
    """Nine in ten digits below the top ones are zero."""
    indices = drawing.indices(SET_START + drawing.count)
    zero = below(drawing.draws(indices).several(0, 2 * length), SPARSE) > 0
    zero[[length - 1, 2 * length - 1]] = False
    return _zeroed(
        "sparse", drawing, length, *(resize(z.movedim(0, -1), drawing.width) for z in zero.split(length))
    )


def _zeroed(name: str, drawing: Drawing, length: int, *zero: Tensor) -> Problems:
    """Problems of B_n with zeros where the masks [M, N, W] hold, one mask for both operands or one each."""
    operands = drawing.operands(f"B{length}", drawing.indices(SET_START))
    a, b = (digits.masked_fill(mask, 0) for digits, mask in zip(operands, (zero[0], zero[-1]), strict=True))
    return Problems(f"D{length}:{name}", a, b, "sampled")


SETS = {draw.__name__: draw for draw in (lopsided, carry, alternating, repeated, zeros, sparse)}
"""The special sets by their names in the evaluation config."""


def set_strata(name: str, drawing: Drawing, length: int) -> Strata:
    """A special set as one stratum. Its domain has a name such as `D100:carry`, which `Domain.parse` refuses."""
    problems = SETS[name](drawing, length)
    kind = torch.zeros(1, problems.a.shape[1], dtype=torch.int64, device=drawing.device)
    return Strata(problems, kind, [(problems.name, "exact")], [None] * len(drawing.seeds))


def _combinations(drawing: Drawing, *choices: Sequence[tuple[int, int]]) -> tuple[list[Tensor], Selection]:
    """A pair of digits [2, M, N, 1] from each list, in every combination, or a sample where there are more than
    requested."""
    combined = [*product(*choices)]
    if len(combined) > drawing.count:
        draws = drawing.draws(drawing.indices(SET_START))
        return [_choice(pairs, draws(k)) for k, pairs in enumerate(choices)], "sampled"
    digits = torch.tensor(combined, device=drawing.device).permute(1, 2, 0)
    return [own.view(2, 1, -1, 1).expand(-1, len(drawing.seeds), -1, -1) for own in digits], "enumerated"


def _choice(pairs: Sequence[tuple[int, int]], draws: Tensor) -> Tensor:
    """Pairs of digits [2, M, N, 1], all equally likely."""
    return torch.tensor(pairs, device=draws.device)[below(draws, len(pairs))].movedim(-1, 0).unsqueeze(-1)
