"""Evaluating a trained run: on test domains or a user's own pairs, with verdicts and wrong answers shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lengthwise.arithmetic import Domain, parse_test_domains
from lengthwise.errors import InputError
from lengthwise.evaluation.failures import decode, split_failures
from lengthwise.evaluation.measure import Row, ask, measure
from lengthwise.evaluation.problems import given_problems
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Subject
from lengthwise.records.dependence import Dependence, dependence_of
from lengthwise.records.schema import Record
from lengthwise.records.verdicts import Verdict, verdicts
from lengthwise.runs.assess import (
    assess_decoded,
    assess_dependence,
    dependence_length,
    domain_rows,
    given_row,
)
from lengthwise.runs.load import Answer, Run, load
from lengthwise.runs.memory import memory_told
from lengthwise.theory.hypotheses import TRUTH
from lengthwise.tokens.digits import to_ints


@dataclass(frozen=True)
class Evaluation:
    records: list[Record]
    verdicts: list[Verdict]
    """One per test domain; none for pairs of a file."""
    errors: list[Answer]
    dependence: Dependence | None = None


def evaluate(
    run: Run | Path | str,
    test: str | None = None,
    *,
    pairs: Path | str | None = None,
    decoded: bool = False,
    dependence: bool = False,
    show_errors: int = 0,
    device: str = "auto",
) -> Evaluation:
    """Measure a run on test domains (by default its own), or on a file of pairs.

    `decoded` adds real decoding with its failure split; `dependence` what each answer digit depends on;
    `show_errors` finds that many wrong answers.
    """
    if pairs is not None and test is not None:
        raise InputError(f"both pairs {str(pairs)!r} and test domains {test!r} are given: allowed is one of them")
    if show_errors < 0:
        raise InputError(f"show_errors is {show_errors}: allowed is 0 or more")
    with memory_told(1):
        run = run if isinstance(run, Run) else load(run, device=device)
        found = _evaluated(run, test, pairs, decoded=decoded, show_errors=show_errors)
        return _with_dependence(run, found) if dependence else found


def _evaluated(
    run: Run, test: str | None, pairs: Path | str | None, *, decoded: bool, show_errors: int
) -> Evaluation:
    domains: list[Domain] = []
    if pairs is None:
        domains = run.config.test_domains if test is None else parse_test_domains(test, run.config.base)
        _refuse_too_long(run, domains)
    rows = _rows(run, domains, pairs)
    records = _measure(run, rows)
    if decoded:
        records += assess_decoded(run.parts, run.members, rows)
    judged = verdicts(run.config.spec.predictions(domains), run.config.train_domain, records) if domains else []
    return Evaluation(records, judged, find_errors(run, rows, show_errors))


def _with_dependence(run: Run, found: Evaluation) -> Evaluation:
    records = assess_dependence(run.parts, run.members)
    longest = Domain.parse(f"D{dependence_length(run.config)}", run.config.base)
    shown = dependence_of(records, run.config.task_object, run.config.spec.predicted_hypothesis(longest))
    return replace(found, records=[*found.records, *records], dependence=shown)


def find_errors(run: Run, rows: Sequence[Row], count: int) -> list[Answer]:
    """The first wrong answers, by decoding, row after row."""
    found: list[Answer] = []
    for row in rows:
        if len(found) < count:
            found += _errors_of(run, row, count - len(found))
    return found


def _errors_of(run: Run, row: Row, count: int) -> list[Answer]:
    a, b, base, layout = row.problems.a, row.problems.b, run.config.base, run.parts.layout
    truth = reference_answers([run.config.task_object], [TRUTH], a, b, layout.answer_width)
    answers = decode(run.parts.model, layout, run.parts.encoding, (a, b))
    exact = split_failures(answers, layout, (a, b), truth).exact[0]
    wrong = (~exact).nonzero().flatten()[:count]
    operands = zip(to_ints(a[0, wrong], base), to_ints(b[0, wrong], base), strict=True)
    read = (layout.read_answer(ids) for ids in answers[0, wrong])
    return [run.compare(x, y, answer) for (x, y), answer in zip(operands, read, strict=True)]


def _rows(run: Run, domains: Sequence[Domain], pairs: Path | str | None) -> list[Row]:
    if pairs is None:
        return domain_rows(run.parts, run.config.spec.measured_domains(domains))
    width, base, device = run.parts.layout.operand_width, run.config.base, run.parts.model.device
    problems = given_problems(Path(pairs), run.config.task_object, 1, width, device)
    run.check_answers(zip(to_ints(problems.a, base), to_ints(problems.b, base), strict=True))
    return [given_row(run.parts, problems)]


def _measure(run: Run, rows: Sequence[Row]) -> list[Record]:
    subject = Subject(run.parts.model, run.parts.layout, run.parts.encoding)
    questions = ask(run.members, rows, run.parts.layout.answer_width)
    return measure(subject, run.members, questions, detail=True)


def _refuse_too_long(run: Run, domains: Sequence[Domain]) -> None:
    width, longest = run.parts.layout.operand_width, max(domain.length for domain in domains)
    if longest > width:
        raise InputError(
            f"length {longest} is more than {run.folder.path} has room for: allowed is up to {width} "
            f"(a run trained with --data.operand-width {longest} has room for it)"
        )
    for domain in domains:
        run.check_room(domain.answer_digits(run.config.task_object), f"the longest answer of {domain}")
