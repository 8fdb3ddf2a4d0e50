"""Exact match on problems of one kind each: by longest carry chain, by both operand lengths, on special sets.

Everything here is scored by teacher forcing, after training. A chain is what `theory.carries` says: a column
whose digits sum to the base or more, and the columns right above it that sum to base - 1.

Shapes: M members, N problems, W operand digits, A answer digits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain
from lengthwise.evaluation.measure import Row, ask, record_maker
from lengthwise.evaluation.problems import Problems
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Subject, score
from lengthwise.evaluation.seen import MeasuredMember, chance_seen
from lengthwise.records.schema import Record
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.chains import LONGEST, longest_chain
from lengthwise.tokens.sampling import Member, Sampler

CHAIN_PROBLEMS, PAIR_PROBLEMS = 2 << 40, 3 << 40
"""Where these begin in a member's evaluation stream: none is a problem of another measurement."""

PAIR_LENGTHS = 30
"""Lengths of an operand that a grid has at most."""

SCORED_AT_ONCE = 1 << 13
"""Problems whose every digit is kept, until it is known which answers are right."""


@dataclass(frozen=True)
class Drawing:
    """How many problems of a kind are drawn for each member, and how they are written."""

    seeds: Sequence[int]
    width: int
    base: int
    count: int
    device: torch.device

    def operands(self, domain: str, indices: Tensor) -> tuple[Tensor, Tensor]:
        """[M, len(indices), W] of members' evaluation streams."""
        members = [Member(seed, Domain.parse(domain, self.base)) for seed in self.seeds]
        return Sampler(members, self.width, stream="evaluation", device=self.device)(indices)


@dataclass(frozen=True)
class Stratum:
    """What a record calls problems of one kind."""

    domain: str
    metric: str


@dataclass(frozen=True)
class Strata:
    """Problems of several kinds."""

    row: Row
    kind: Tensor
    """int64 [M or 1, N]: which of the strata each problem belongs to."""
    strata: Sequence[Stratum]
    further: Sequence[Hypothesis] = ()
    """What answers are compared with besides truth and the row's own."""


def measure_strata(subject: Subject, members: Sequence[MeasuredMember], several: Sequence[Strata]) -> list[Record]:
    """A record for each member, stratum that occurs, and reference: truth, the row's own where it differs, and
    further ones."""
    records: list[Record] = []
    for strata in several:
        (question,) = ask(members, [strata.row], subject.layout.answer_width)
        right = [right_answers(subject, strata.row.problems, answers) for answers in question.answers]
        further = {str(h): _as_hypothesis(subject, members, strata.row.problems, h) for h in strata.further}
        for k, member in enumerate(members):
            # A member that theory says computes truth has truth for both.
            compared = {
                **{reference: matches[k] for reference, matches in further.items()},
                str(TRUTH): right[0][k],
                str(question.references[k]): right[-1][k],
            }
            make = partial(record_maker(member), selection=strata.row.problems.selection)
            records += _counts(make, strata, k, compared, _chance_seen(member, strata.row.problems, k))
    return records


def chain_strata(rows: Sequence[Row], drawing: Drawing, further: Sequence[Hypothesis] = ()) -> list[Strata]:
    """The domains of rows by longest carry chain.

    A domain that is there whole, too long for the sampler or of parts such as 40x2 is taken as it is. Of others
    there are problems that have every chain that occurs alike, as uniform ones hardly ever have a long one.
    """
    return [_by_chain(row, further) for row in _stratified(rows, drawing)]


def pair_strata(drawing: Drawing) -> Strata:
    """Problems for every pair of operand lengths up to the width, the shortest first: these then share a pass
    with others of about their length."""
    lengths = pair_lengths(drawing.width)
    pairs = [(n, m) for n in lengths for m in lengths]
    order = sorted(range(len(pairs)), key=lambda i: (max(pairs[i]), sum(pairs[i])))
    a, b = (operand[:, order].flatten(1, 2) for operand in _pair_grid(lengths, drawing))
    strata = [Stratum(f"D{max(pairs[i])}", f"pair:{pairs[i][0]}:{pairs[i][1]}") for i in order]
    return Strata(
        Row(Problems("pairs", a, b, "sampled"), None, [None] * len(drawing.seeds)),
        torch.arange(len(strata), device=drawing.device).repeat_interleave(drawing.count).unsqueeze(0),
        strata,
    )


def pair_lengths(width: int) -> list[int]:
    """All up to 30; above that 1, 2, the multiples of one number and the width itself, at most 30 in all.

    >>> pair_lengths(100)
    [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 84, 88, 92, 96, 100]
    """
    if width <= PAIR_LENGTHS:
        return list(range(1, width + 1))
    apart = -(-width // (PAIR_LENGTHS - 3))
    return sorted({1, 2, *range(apart, width, apart), width})


def right_answers(subject: Subject, problems: Problems, answers: Tensor) -> Tensor:
    """bool [M, N]: where greedy decoding would write these answers."""
    vocabulary = len(subject.layout.vocabulary)
    support = torch.ones(len(answers), answers.shape[-1], vocabulary, dtype=torch.bool, device=answers.device)
    parts = zip(*(x.split(SCORED_AT_ONCE, dim=1) for x in (problems.a, problems.b, answers)), strict=True)
    return torch.cat([score(subject, (a, b), c, support).exact for a, b, c in parts], 1)


def _as_hypothesis(
    subject: Subject, members: Sequence[MeasuredMember], problems: Problems, hypothesis: Hypothesis
) -> Tensor:
    """bool [M, N]: where members answer as a hypothesis does."""
    tasks, width = [member.task for member in members], subject.layout.answer_width
    answers = reference_answers(tasks, [hypothesis] * len(tasks), problems.a, problems.b, width)
    return right_answers(subject, problems, answers)


def _counts(
    make: partial[Record], strata: Strata, k: int, compared: Mapping[str, Tensor], seen: Tensor
) -> Iterator[Record]:
    """Of member k, whose answers match [N] what they are compared with."""
    kind, number = strata.kind.expand(len(strata.row.problems.a), -1)[k], len(strata.strata)
    totals, shares = torch.bincount(kind, minlength=number).tolist(), torch.bincount(kind, seen, number).tolist()
    for reference, matches in compared.items():
        correct = torch.bincount(kind[matches], minlength=number).tolist()
        for i, stratum in enumerate(strata.strata):
            if totals[i]:
                yield make(
                    domain=stratum.domain,
                    reference=reference,
                    metric=stratum.metric,
                    correct=correct[i],
                    total=totals[i],
                    seen=round(shares[i] / totals[i], 6),
                )


def _chance_seen(member: MeasuredMember, problems: Problems, k: int) -> Tensor:
    parts = zip(problems.a[k].split(SCORED_AT_ONCE), problems.b[k].split(SCORED_AT_ONCE), strict=True)
    return torch.cat([chance_seen(member, a, b) for a, b in parts])


def _stratified(rows: Sequence[Row], drawing: Drawing) -> list[Row]:
    drawn = [i for i, row in enumerate(rows) if _is_drawn(row)]
    if not drawn:
        return list(rows)
    # One sampler for all domains: most of its work is a table for the longest.
    members = [Member(seed, _domain(rows[i])) for i in drawn for seed in drawing.seeds]
    sampler = Sampler(members, drawing.width, mode="chains", stream="evaluation", device=drawing.device)
    indices = torch.arange(CHAIN_PROBLEMS, CHAIN_PROBLEMS + drawing.count, device=drawing.device)
    every_a, every_b = (operand.unflatten(0, (len(drawn), -1)) for operand in sampler(indices))
    result = list(rows)
    for i, a, b in zip(drawn, every_a, every_b, strict=True):
        result[i] = replace(rows[i], problems=replace(rows[i].problems, a=a, b=b))
    return result


def _is_drawn(row: Row) -> bool:
    domain = _domain(row)
    equally_long = all(part.exact is None for part in domain.parts)
    return row.problems.selection == "sampled" and domain.length <= LONGEST and equally_long


def _domain(row: Row) -> Domain:
    assert row.domain is not None, "carry chains are counted on domains"
    return row.domain


def _by_chain(row: Row, further: Sequence[Hypothesis]) -> Strata:
    problems, domain = row.problems, _domain(row)
    chain = longest_chain(problems.a, problems.b, domain.base).long()
    strata = [Stratum(problems.domain, f"chain:{k}") for k in range(domain.length + 1)]
    return Strata(row, chain, strata, further)


def _pair_grid(lengths: Sequence[int], drawing: Drawing) -> tuple[Tensor, Tensor]:
    """Operands [M, pairs of lengths, problems of each, W]: each pair has problems of its own."""
    side, count = len(lengths), drawing.count
    indices = torch.arange(PAIR_PROBLEMS, PAIR_PROBLEMS + side * side * count, device=drawing.device)
    indices = indices.view(side, side, count)
    rows_of_a: list[Tensor] = []
    columns_of_b: list[Tensor] = []
    for i, length in enumerate(lengths):
        # Both operands of B_n have n digits, and are independent of each other.
        domain = f"B{length}"
        rows_of_a.append(drawing.operands(domain, indices[i].flatten())[0].unflatten(1, (side, count)))
        columns_of_b.append(drawing.operands(domain, indices[:, i].flatten())[1].unflatten(1, (side, count)))
    return torch.stack(rows_of_a, 1).flatten(1, 2), torch.stack(columns_of_b, 2).flatten(1, 2)
