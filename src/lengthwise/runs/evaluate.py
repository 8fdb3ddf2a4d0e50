"""Evaluation of a stack during and after training, and of a trained run on test domains or a user's own pairs."""

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch

from lengthwise.arithmetic import Domain, parse_test_domains
from lengthwise.errors import InputError
from lengthwise.evaluation.anatomy import measure_anatomy
from lengthwise.evaluation.decode import decode, split_failures
from lengthwise.evaluation.measure import Row, measure, measure_candidates, measure_decoded, measure_steps
from lengthwise.evaluation.probes import (
    measure_carry_map,
    measure_changed,
    measure_dependence,
    measure_dynamics,
    measure_offsets,
)
from lengthwise.evaluation.problems import Problems, given_problems, test_problems
from lengthwise.evaluation.strata import chain_strata, measure_strata, pair_strata, set_strata
from lengthwise.evaluation.text import Answered, Found, Prompts, TextModel, ask, find_functions, text_records
from lengthwise.progress import Watch, unwatched
from lengthwise.records.analysis import Dependence, dependence_of
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.spec import RunSpec
from lengthwise.records.verdicts import Verdict, counted, verdicts
from lengthwise.registry import Shown
from lengthwise.runs.build import Stack
from lengthwise.runs.config import RunConfig
from lengthwise.runs.load import Answer, LoadedRun, load
from lengthwise.runs.machine import memory_errors_explained
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.digits import to_pairs
from lengthwise.tokens.hashing import WHOLE_LIMIT
from lengthwise.tokens.sampling import FixedSet

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)


class Assessment:
    """Measures a stack on the training domain and on every test domain.

    Evaluations during training have fewer problems, always the same.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    def __call__(self, steps: Sequence[int], *, detail: bool) -> list[Record]:
        """Records of all members, each after its number of steps; `detail` is for the one after training."""
        stack, config = self.stack.after(steps), self.stack.config.evaluation
        rows = domain_rows(stack) if detail else self.interim_rows
        records = measure(stack, rows, detail=detail and config.details, digits=config.digits)
        if config.dynamics:
            records += measure_dynamics(stack, stack.drawing(config.interim_problems))
        return records + _after_training(stack, rows) if detail else records

    @cached_property
    def interim_rows(self) -> list[Row]:
        """Rows for evaluations during training; domains of at most that many problems are enumerated."""
        config = self.stack.config.evaluation
        few = config.interim_problems
        return domain_rows(self.stack, problems=min(config.problems, few), whole=min(WHOLE_LIMIT, few))


def _after_training(stack: Stack, rows: Sequence[Row]) -> list[Record]:
    """The optional measurements of the evaluation config, which is the same for all members of a stack."""
    config, tests, records = stack.config.evaluation, stack.config.spec.tests, list[Record]()
    drawing = stack.drawing(config.problems)
    candidates = [Hypothesis.parse(name) for name in config.hypotheses]
    if config.dependence:
        records += assess_dependence(stack)
    strata = chain_strata(rows, drawing, candidates) if config.chains else []
    if config.pairs:
        strata.append(pair_strata(stack.drawing(config.pairs)))
    for length in dict.fromkeys(domain.length for domain in tests):
        strata += [set_strata(name, drawing, length) for name in dict.fromkeys(config.sets)]
    records += measure_strata(stack, strata)
    records += measure_candidates(stack, rows, candidates)
    if config.changed_digits:
        few = stack.drawing(config.changed_digits)
        for domain in (domain for domain in tests if domain.length > 1):
            records += measure_changed(stack, few, domain)
        records += measure_carry_map(stack, few, _longest_tested(stack))
    if layout_facts(stack.config.spec.layout).with_steps:
        records += measure_steps(stack, rows)
    if config.offsets:
        records += measure_offsets(stack, few_rows(stack, config.offsets))
    if config.decoded:
        records += measure_decoded(stack, few_rows(stack, config.decoded))
    if config.anatomy:
        records += measure_anatomy(stack, few_rows(stack, config.anatomy))
    return records


def assess_dependence(stack: Stack) -> list[Record]:
    """Dependence of answers on operand digits, for operands of the longest tested length."""
    drawing = stack.drawing(stack.config.evaluation.interim_problems)
    return [*measure_dependence(stack, drawing, _longest_tested(stack).length)]


def _longest_tested(stack: Stack) -> Domain:
    return Domain.parse(f"D{max(domain.length for domain in stack.config.spec.tests)}", stack.config.base)


def assess_held_out(stack: Stack, sets: Sequence[FixedSet]) -> list[Record]:
    """Records of each member on the held-out tenth of its fixed set, as the domain `D4 (held out)`."""
    predicted = [config.spec.predicted_hypothesis(config.spec.train) for config in stack.configs]
    tests = {k: fixed.test for k, fixed in enumerate(sets) if len(fixed.test[0])}
    records: list[Record] = []
    for size in dict.fromkeys(len(a) for a, _ in tests.values()):
        own = {k: pair for k, pair in tests.items() if len(pair[0]) == size}
        # A pass covers all members: those whose sets have another size run on one of these, without records.
        chosen = [own.get(k) or next(iter(own.values())) for k in range(len(sets))]
        a, b = (torch.stack(side).to(stack.device) for side in zip(*chosen, strict=True))
        row = Row.of(stack, Problems("held out", a, b, "sampled", held_out=True), predicted)
        labels = {stack.members[k].run: f"{stack.members[k].train} (held out)" for k in own}
        measured = measure(stack, [row], detail=False)
        records += [r.model_copy(update={"domain": labels[r.run]}) for r in measured if r.run in labels]
    return records


def training_accuracies(stack: Stack, records: Sequence[Record]) -> list[float]:
    """Each member's accuracy on the length of its training domain where it is lowest."""
    accuracies: list[float] = []
    for member in stack.members:
        exact = counted(record for record in records if record.run == member.run)
        accuracies.append(min(exact[str(part), TRUTH].share for part in member.train.separate_parts()))
    return accuracies


# --- rows of problems ---------------------------------------------------------------------------------------


def domain_rows(
    stack: Stack,
    domains: Sequence[Domain] | None = None,
    *,
    problems: int | None = None,
    whole: int = WHOLE_LIMIT,
) -> list[Row]:
    """A row for each domain, by default for all that any member is measured on. A domain is enumerated if it has
    at most `whole` problems, else `problems` are drawn, by default as configured."""
    if domains is None:
        domains = list(dict.fromkeys(d for config in stack.configs for d in config.spec.measured_domains()))
    drawing = stack.drawing(problems or stack.config.evaluation.problems)
    return [
        Row.of(
            stack,
            test_problems(domain, drawing, whole=whole),
            [config.spec.measured_hypothesis(domain) for config in stack.configs],
        )
        for domain in domains
    ]


def few_rows(stack: Stack, count: int) -> list[Row]:
    """A row of at most `count` problems for each test domain."""
    return domain_rows(stack, stack.config.spec.tests, problems=count, whole=count)


def given_row(stack: Stack, problems: Problems) -> Row:
    """A row of a user's own pairs, with the prediction for the shortest domain D_n that contains them all."""
    used = (problems.a | problems.b).flatten(0, 1).any(0).nonzero().flatten().tolist()
    domain = Domain.parse(f"D{max(used, default=0) + 1}", stack.config.base)
    return Row.of(stack, problems, [config.spec.predicted_hypothesis(domain) for config in stack.configs])


# --- a trained run ------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    shown_by: ClassVar[str] = "lengthwise.commands.evaluate:show"

    spec: RunSpec
    records: list[Record]
    verdicts: list[Verdict]
    """One per test domain; none for pairs of a file."""
    errors: list[Answer]
    dependence: Dependence | None = None
    functions: list[Found] = field(default_factory=list)
    """The functions that the answers follow, if requested."""

    def frame(self) -> "pl.DataFrame":
        """The records as a frame, one column per field."""
        from lengthwise.records.frame import plain_frame  # noqa: PLC0415 (evaluation works without polars)

        return plain_frame(self.records)


def evaluate(
    run: LoadedRun | os.PathLike[str] | str,
    test: str | None = None,
    *,
    pairs: Path | str | None = None,
    decoded: bool = False,
    dependence: bool = False,
    functions: bool = False,
    show_errors: int = 0,
    problems: int | None = None,
    seed: int | None = None,
    device: str = "auto",
    watch: Watch = unwatched,
) -> Evaluation:
    """Measure a run on test domains (by default its own), or on a file of pairs. `problems` is the number of
    problems per domain, drawn by `seed`, by default as after training; `watch` is called with the number of
    domains done and their total.

    `decoded` also decodes answers token by token and classifies failures; `dependence` finds which operand digits
    each answer digit depends on; `functions` the function that the answers follow; `show_errors` lists that many
    wrong answers.
    """
    if pairs is not None and test is not None:
        raise InputError(f"pairs {str(pairs)!r} cannot be combined with test domains {test!r}")
    if show_errors < 0:
        raise InputError(f"show_errors is {show_errors} (must be 0 or more)")
    with memory_errors_explained(1):
        run = run if isinstance(run, LoadedRun) else load(run, device=device)
        config = run.config
        if problems is not None:
            config = config.changed(evaluation={"problems": problems})
        if seed is not None:
            config = config.changed(seed=seed)
        run = replace(run, config=config, stack=replace(run.stack.after([run.step]), configs=[config]))
        stack, spec = run.stack, config.spec
        domains = _domains(run, test) if pairs is None else []
        if pairs is not None:
            given = given_problems(Path(pairs), spec.task, stack.layout.operand_width, stack.device)
            run.check_answers(to_pairs(given.pair, config.base))
            rows = [given_row(stack, given)]
        else:
            measured, whole = spec.measured_domains(domains), problems or WHOLE_LIMIT
            rows = domain_rows(stack, measured, problems=problems, whole=whole)
        records = measure_each(stack, rows, decoded=decoded, watch=watch)
        judged = verdicts(spec.predictions(domains), spec.train, records) if domains else []
        followed = find_functions(spec.task, _answered(stack, rows)) if functions else []
        depends, shown = [], None
        if dependence:
            depends = assess_dependence(stack)
            shown = dependence_of(depends, spec.task, spec.predicted_hypothesis(_longest_tested(stack)))
        errors = find_errors(run, rows, show_errors)
        return Evaluation(spec, [*records, *depends], judged, errors, shown, followed)


def measure_each(stack: Stack, rows: Sequence[Row], *, decoded: bool, watch: Watch) -> list[Record]:
    """Detailed records of each row; decoded ones come last."""
    forced: list[Record] = []
    written: list[Record] = []
    for done, row in enumerate(rows):
        watch(done, len(rows))
        start = time.perf_counter()
        forced += measure(stack, [row], detail=True)
        written += measure_decoded(stack, [row]) if decoded else []
        log.info("%s: %.2f s", row.problems.name, time.perf_counter() - start)
    return [*forced, *written]


def evaluate_text(
    model: TextModel, config: RunConfig, prompts: Prompts, name: str, *, watch: Watch = unwatched
) -> Evaluation:
    """Measure a text model on the domains of a config; records have it under this name."""
    spec = config.spec
    found = ask(model, spec, prompts, config.evaluation.problems, watch)
    records = [*text_records(spec, name, found, reverse=prompts.reverse)]
    judged = verdicts(spec.predictions(), spec.train, records)
    return Evaluation(spec, records, judged, [], functions=find_functions(spec.task, found))


def _domains(run: LoadedRun, test: str | None) -> Sequence[Domain]:
    """The domains to test on, checked to fit the model's widths."""
    domains = run.config.spec.tests if test is None else parse_test_domains(test, run.config.base)
    width, longest = run.stack.layout.operand_width, max(domain.length for domain in domains)
    if longest > width:
        raise InputError(
            f"{run.folder.path} accepts operands of up to {width} digits, not {longest} "
            f"(train with --data.operand-width {longest})"
        )
    for domain in domains:
        run.check_room(domain.answer_digits(run.config.spec.task), f"the longest answer of {domain}")
    return domains


def _answered(stack: Stack, rows: Sequence[Row]) -> list[Answered]:
    """Decoded answers as numbers."""
    decoded = ((row.problems, decode(stack, row.problems.pair)[0]) for row in rows)
    read, base = stack.layout.read_answer, stack.config.base
    return [Answered(problems, [*map(read, answers)], base) for problems, answers in decoded]


def find_errors(run: LoadedRun, rows: Sequence[Row], count: int) -> list[Answer]:
    """The first `count` wrong answers, by decoding row after row."""
    found, layout = list[Answer](), run.stack.layout
    for row in rows:
        if len(found) == count:
            break
        pair, answers = row.problems.pair, decode(run.stack, row.problems.pair)
        exact = split_failures(answers, layout, pair, row.truth).exact[0]
        wrong = (~exact).nonzero().flatten()[: count - len(found)]
        asked = to_pairs((pair[0][0, wrong], pair[1][0, wrong]), run.config.base)
        read = map(layout.read_answer, answers[0, wrong])
        found += [run.compare(*operands, answer) for operands, answer in zip(asked, read, strict=True)]
    return found
