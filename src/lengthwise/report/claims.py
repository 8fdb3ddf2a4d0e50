"""What the paper says beside its theorems, and what follows from them: each with the verdict of the runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lengthwise.records.analysis import learned_at, learning_order
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, judge, measured
from lengthwise.records.view import RunView
from lengthwise.report.beyond import others
from lengthwise.report.formats import TextTable
from lengthwise.report.relative_claims import (
    absolute_marks,
    failures_are_rare,
    five_go_to_twenty,
    longer_chains_wrong,
    raw_sums_are_hard,
    relative_marks,
    seen_chains_right,
    steps_carry_over,
    written_steps_suffice,
)
from lengthwise.report.run_tables import converged
from lengthwise.report.theorems import FAMILIES, VERDICT_COLUMNS, verdict_line

Words = list[str | None]


@dataclass(frozen=True)
class Claim:
    source: str
    says: str
    decide: Callable[[Sequence[RunView]], tuple[int, Words]]
    """From all runs: how many it is decided on, and a verdict for each thing that was looked at."""


def claim_table(views: Sequence[RunView]) -> TextTable:
    lines = [verdict_line(claim.source, claim.says, *claim.decide(views)) for claim in CLAIMS]
    return TextTable("Other claims", ("where", "what it says", *VERDICT_COLUMNS), tuple(lines), words=2)


def _named(views: Sequence[RunView], *starts: str) -> list[RunView]:
    return [view for view in views if view.name.startswith(starts)]


def top_digits_last(views: Sequence[RunView]) -> tuple[int, Words]:
    runs = _named(views, "dynamics-")
    return len(runs), [learning_order(view.records, view.train).top_last for view in runs]


def top_digits_first(views: Sequence[RunView]) -> tuple[int, Words]:
    runs = _named(views, "dynamics-")
    return len(runs), [learning_order(view.records, view.train).top_first for view in runs]


def mixture_easier(views: Sequence[RunView]) -> tuple[int, Words]:
    """D4+D5 reaches 99 % on its own domain in fewer steps than D5, all else equal."""
    runs = {view.name: view for view in _named(views, "scales-")}
    pairs = [(view, runs.get(name.replace("-D4+D5-", "-D5-"))) for name, view in runs.items() if "-D4+D5-" in name]
    compared = [(mixture, alone) for mixture, alone in pairs if alone is not None]
    return 2 * len(compared), [_sooner(learned_step(mixture), learned_step(alone)) for mixture, alone in compared]


def _sooner(one: int | None, other: int | None) -> str:
    if one == other:
        return UNDECIDED
    return HOLDS if one is not None and (other is None or one < other) else FAILS


def learned_step(view: RunView) -> int | None:
    """The first step from which a run stays at 99 % or more on its training domain."""
    own = (str(view.train), TRUTH, "exact", "forced")
    return learned_at(
        {
            record.step: record.correct / record.total
            for record in view.records
            if (record.domain, record.reference, record.metric, record.mode) == own and record.correct is not None
        }
    )


def top_digit_stuck(views: Sequence[RunView]) -> tuple[int, Words]:
    """Trained where digit n + 1 is always 1, a model does not write the 0 that shorter operands need there."""
    runs = [view for view in _named(views, "counterexample-") if "lead" in str(view.train)]
    words: Words = []
    for view in runs:
        n = view.train.length
        shorter = {str(domain) for domain in view.tests if domain.length < n}
        words += [
            judge(others(measured(record)), converged(view))
            for record in view.at(view.last_step)
            if record.metric == f"digit:{n + 1}" and record.domain in shorter and record.reference == TRUTH
        ]
    return len(runs), words


def both_long_is_not_enough(views: Sequence[RunView]) -> tuple[int, Words]:
    """Trained on Bn, a model misses some sums one digit shorter: it never saw an empty top digit."""
    runs = _named(views, "addition-B")
    return len(runs), [_misses_some(view, f"D{view.train.length - 1}") for view in runs]


def _misses_some(view: RunView, domain: str) -> str:
    word = judge(view.final_counts[domain, TRUTH], converged(view))
    return {HOLDS: FAILS, FAILS: HOLDS}.get(word or UNDECIDED, UNDECIDED)


def all_lengths_learned(views: Sequence[RunView]) -> tuple[int, Words]:
    runs = [view for view in _named(views, "counterexample-") if len(view.train.parts) > 1]
    return len(runs), [verdict.word for view in runs for verdict in view.verdicts()]


def unread_digits_dead(views: Sequence[RunView]) -> tuple[int, Words]:
    """Changing an operand digit above those that matter changes no answer digit."""
    per_run = [_dead_columns(view) for view in _named(views, *FAMILIES) if _predicted_beyond(view)]
    deciding = [words for words in per_run if words]
    return len(deciding), [word for words in deciding for word in words]


def _predicted_beyond(view: RunView) -> bool:
    """Whether theory says what the run computes on the longest operands tested."""
    longest = max(view.tests, key=lambda domain: domain.length)
    return view.spec.predictions([longest])[0].hypothesis is not None


def _dead_columns(view: RunView) -> Words:
    words: Words = []
    learned_it = converged(view)
    for record in view.at(view.last_step):
        kind, _, place = record.metric.partition(":")
        if kind == "depends" and int(place.partition(":")[2]) > digits_that_matter(view):
            words.append(judge(others(measured(record)), learned_it))
    return words


def digits_that_matter(view: RunView) -> int:
    """n, or the least k with p dividing base^k where that is less."""
    task, n = view.task, view.train.length
    if task.modulus is None:
        return n
    return next((k for k in range(1, n) if task.base**k % task.modulus == 0), n)


CLAIMS = (
    Claim("remark on Theorem 1", "Positions n and n + 1 are the last to be learned", top_digits_last),
    Claim("appendix", "Positions n and n + 1 are the first to be learned", top_digits_first),
    Claim("remark on Theorem 1", "Learning on D4+D5 is easier than on D5: fewer steps to 99 %", mixture_easier),
    Claim("counterexample", "Trained on D4[lead>=6], digit 5 is never 0 on shorter operands", top_digit_stuck),
    Claim(
        "B4",
        "Trained on B4, sums of three digits go wrong (72.6 % are right in the paper)",
        both_long_is_not_enough,
    ),
    Claim("capacity", "The same model trained on D1..9 is right on all lengths", all_lengths_learned),
    Claim(
        "Table 1, absolute",
        "Trained models go on to longer operands where it says, and only there",
        absolute_marks,
    ),
    Claim(
        "Table 1, relative",
        "Trained models go on to longer operands where it says, and only there",
        relative_marks,
    ),
    Claim("Theorem 3, bound", "Longer sums go wrong at most once in 10^(n-1)", failures_are_rare),
    Claim(
        "Theorem 3, seen chains",
        "Longer sums whose carries travel no further than in training are right",
        seen_chains_right,
    ),
    Claim(
        "Theorem 3, longer chains",
        "Sums whose carries travel further than in training are wrong",
        longer_chains_wrong,
    ),
    Claim("Jelassi and others", "Relative positions: trained on five digits, twenty are added", five_go_to_twenty),
    Claim(
        "multiplication, steps",
        "Given raw sums, carries and digits of longer products are right",
        steps_carry_over,
    ),
    Claim(
        "multiplication, scratchpad",
        "Longer products are right where raw sums and carries are written first",
        written_steps_suffice,
    ),
    Claim("multiplication, raw sums", "The raw sums of longer products go wrong", raw_sums_are_hard),
    Claim("dependence", "Operand digits that theory says are ignored change no answer digit", unread_digits_dead),
)
