"""Evaluating: a stack while it trains and after that, and a trained run on test domains or a user's own pairs."""

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
from lengthwise.evaluation.probes import measure_changed, measure_dependence, measure_dynamics
from lengthwise.evaluation.problems import Member, Pair, Problems, given_problems, test_problems
from lengthwise.evaluation.strata import Strata, chain_strata, measure_strata, pair_strata, set_strata
from lengthwise.evaluation.text import Answered, Found, Prompts, TextModel, ask, find_functions, text_records
from lengthwise.progress import Watch, unwatched
from lengthwise.records.analysis import Dependence, dependence_of
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import Verdict, counted, verdicts
from lengthwise.runs.build import Stack
from lengthwise.runs.config import RunConfig
from lengthwise.runs.load import Answer, Run, load
from lengthwise.runs.machine import memory_errors_explained
from lengthwise.shown import Shown
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.digits import to_ints
from lengthwise.tokens.reserve import WHOLE_LIMIT
from lengthwise.tokens.sampling import FixedSet

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)


class Assessment:
    """Measures a stack on the training domain and on every test domain, as often as asked to.

    Between steps there are fewer problems, and always the same.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    def __call__(self, steps: Sequence[int], *, detail: bool) -> list[Record]:
        """Records of all members, each after its number of steps; `detail` is for the one after training."""
        stack, config = self.stack, self.stack.config.evaluation
        members = stack.members(steps)
        rows = domain_rows(stack) if detail else self._interim_rows
        records = measure(stack, members, rows, detail=detail and config.details, digits=config.digits)
        if config.dynamics:
            records += measure_dynamics(stack, members, stack.drawing(config.interim_problems))
        return records + _after_training(stack, members, rows) if detail else records

    @cached_property
    def _interim_rows(self) -> list[Row]:
        return domain_rows(self.stack, interim=True)


def _after_training(stack: Stack, members: Sequence[Member], rows: Sequence[Row]) -> list[Record]:
    """What the evaluation config asks for besides. All members have the same, as they are one stack."""
    config, records = stack.config.evaluation, []
    candidates = [Hypothesis.parse(name) for name in config.hypotheses]
    if config.dependence:
        records += assess_dependence(stack, members)
    records += measure_strata(stack, members, _strata(stack, rows, candidates))
    records += measure_candidates(stack, members, rows, candidates)
    if config.changed_digits:
        drawing = stack.drawing(config.changed_digits)
        longer_than_one = [domain for domain in stack.config.spec.tests if domain.length > 1]
        records += [r for domain in longer_than_one for r in measure_changed(stack, members, drawing, domain)]
    if layout_facts(stack.config.spec.layout).with_steps:
        records += measure_steps(stack, members, rows)
    if config.decoded:
        records += measure_decoded(stack, members, few_rows(stack, config.decoded))
    if config.anatomy:
        records += measure_anatomy(stack, members, few_rows(stack, config.anatomy))
    return records


def _strata(stack: Stack, rows: Sequence[Row], candidates: Sequence[Hypothesis]) -> list[Strata]:
    config, strata = stack.config.evaluation, []
    drawing = stack.drawing(config.problems)
    if config.chains:
        strata += chain_strata(rows, drawing, candidates)
    if config.pairs:
        strata.append(pair_strata(stack.drawing(config.pairs)))
    for length in dict.fromkeys(domain.length for domain in stack.config.spec.tests):
        strata += [set_strata(name, drawing, length) for name in dict.fromkeys(config.sets)]
    return strata


def assess_dependence(stack: Stack, members: Sequence[Member]) -> list[Record]:
    """What the answers depend on, with operands of the longest length tested."""
    drawing = stack.drawing(stack.config.evaluation.interim_problems)
    return [*measure_dependence(stack, members, drawing, _longest_tested(stack).length)]


def _longest_tested(stack: Stack) -> Domain:
    return Domain.parse(f"D{max(domain.length for domain in stack.config.spec.tests)}", stack.config.base)


def assess_held_out(stack: Stack, members: Sequence[Member], sets: Sequence[FixedSet | None]) -> list[Record]:
    """Records of each member on the tenth of its own set that is held out, as the domain `D4 (held out)`."""
    predicted = [config.spec.predicted_hypothesis(config.spec.train) for config in stack.configs]
    records: list[Record] = []
    for own in _of_equal_size(sets):
        # A pass is over all members: those whose sets have another size get one of these, and no records of it.
        chosen = [own.get(k) or next(iter(own.values())) for k in range(len(members))]
        a, b = (torch.stack(side).to(stack.device) for side in zip(*chosen, strict=True))
        row = _row(stack, Problems("held out", a, b, "sampled"), predicted)
        labels = {members[k].run: f"{members[k].train} (held out)" for k in own}
        measured = measure(stack, members, [row], detail=False)
        records += [r.model_copy(update={"domain": labels[r.run]}) for r in measured if r.run in labels]
    return records


def _of_equal_size(sets: Sequence[FixedSet | None]) -> list[dict[int, Pair]]:
    """The problems held out, by member; members with equally many together."""
    groups: dict[int, dict[int, Pair]] = {}
    for k, fixed in enumerate(sets):
        if fixed is not None and len(fixed.test[0]):
            groups.setdefault(len(fixed.test[0]), {})[k] = fixed.test
    return list(groups.values())


def training_accuracies(stack: Stack, records: Sequence[Record]) -> list[float]:
    """Each member's share of right answers on that length of its training domain where it is least."""
    accuracies: list[float] = []
    for name, config in zip(stack.names, stack.configs, strict=True):
        exact = counted(record for record in records if record.run == name)
        accuracies.append(min(exact[str(part), TRUTH].share for part in config.spec.train.separate_parts()))
    return accuracies


# --- rows of problems ---------------------------------------------------------------------------------------


def domain_rows(stack: Stack, domains: Sequence[Domain] | None = None, *, interim: bool = False) -> list[Row]:
    """A row for each domain; by default for each that any member is to be measured on.

    An interim evaluation has fewer problems, and takes whole only what is no larger than that.
    """
    if domains is None:
        domains = list(
            dict.fromkeys(domain for config in stack.configs for domain in config.spec.measured_domains())
        )
    config = stack.config.evaluation
    few = min(config.problems, config.interim_problems)
    count, whole = (few, min(WHOLE_LIMIT, config.interim_problems)) if interim else (config.problems, WHOLE_LIMIT)
    return [_domain_row(stack, domain, count, whole) for domain in domains]


def few_rows(stack: Stack, count: int, domains: Sequence[Domain] | None = None) -> list[Row]:
    """A row of at most `count` problems for each domain; by default for each test domain, which all members
    share."""
    return [_domain_row(stack, domain, count, count) for domain in domains or stack.config.spec.tests]


def _domain_row(stack: Stack, domain: Domain, count: int, whole: int) -> Row:
    problems = test_problems(domain, stack.drawing(count), whole=whole)
    return _row(stack, problems, [config.spec.measured_hypothesis(domain) for config in stack.configs])


def given_row(stack: Stack, problems: Problems) -> Row:
    """A row of a user's own pairs: the prediction is that for the shortest domain that holds them all."""
    used = (problems.a | problems.b).flatten(0, 1).any(0).nonzero().flatten().tolist()
    domain = Domain.parse(f"D{max(used, default=0) + 1}", stack.config.base)
    return _row(stack, problems, [config.spec.predicted_hypothesis(domain) for config in stack.configs])


def _row(stack: Stack, problems: Problems, predicted: Sequence[Hypothesis | None]) -> Row:
    tasks = [config.spec.task for config in stack.configs]
    return Row.of(problems, tasks, predicted, stack.layout.answer_width)


# --- a trained run ------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    shown_by: ClassVar[str] = "lengthwise.commands.evaluate:show"

    records: list[Record]
    verdicts: list[Verdict]
    """One per test domain; none for pairs of a file."""
    errors: list[Answer]
    dependence: Dependence | None = None
    functions: list[Found] = field(default_factory=list)
    """Which function the answers follow, where that was asked."""

    def frame(self) -> "pl.DataFrame":
        """The records, a column for each field."""
        from lengthwise.records.frame import plain_frame  # noqa: PLC0415 (what evaluates does without polars)

        return plain_frame(self.records)


def evaluate(
    run: Run | os.PathLike[str] | str,
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
    """Measure a run on test domains (by default its own), or on a file of pairs. `problems` of each domain are
    drawn by `seed`, by default as after training; `watch` is told how many domains are done, and of how many.

    `decoded` adds real decoding with its failure split; `dependence` what each answer digit depends on;
    `functions` which function the answers follow; `show_errors` finds that many wrong answers.
    """
    if pairs is not None and test is not None:
        raise InputError(f"pairs {str(pairs)!r} and test domains {test!r} exclude each other")
    if show_errors < 0:
        raise InputError(f"show_errors is {show_errors} (must be 0 or more)")
    with memory_errors_explained(1):
        run = run if isinstance(run, Run) else load(run, device=device)
        members, run = run.stack.members([run.step]), _drawn_otherwise(run, problems, seed)
        stack = run.stack
        domains = _domains(run, test) if pairs is None else []
        measured = run.config.spec.measured_domains(domains)
        if pairs is not None:
            rows = [_given(run, pairs)]
        else:
            rows = domain_rows(stack, measured) if problems is None else few_rows(stack, problems, measured)
        records = measure_each(stack, members, rows, decoded=decoded, watch=watch)
        predictions = run.config.spec.predictions(domains) if domains else []
        judged = verdicts(predictions, run.config.spec.train, records) if domains else []
        followed = find_functions(run.config.spec.task, _answered(run, rows)) if functions else []
        depends = assess_dependence(stack, members) if dependence else []
        shown = _dependence(run, depends) if dependence else None
        errors = find_errors(run, rows, show_errors)
        return Evaluation([*records, *depends], judged, errors, shown, followed)


def _drawn_otherwise(run: Run, problems: int | None, seed: int | None) -> Run:
    """The same model, asked this many problems, drawn by this seed."""
    config = run.config
    if problems is not None:
        config = config.changed(evaluation={"problems": problems})
    if seed is not None:
        config = config.changed(seed=seed)
    return replace(run, config=config, stack=replace(run.stack, configs=[config]))


def measure_each(
    stack: Stack, members: Sequence[Member], rows: Sequence[Row], *, decoded: bool, watch: Watch
) -> list[Record]:
    """In detail, row after row; decoded records come last."""
    forced: list[Record] = []
    written: list[Record] = []
    for done, row in enumerate(rows):
        watch(done, len(rows))
        start = time.perf_counter()
        forced += measure(stack, members, [row], detail=True)
        written += measure_decoded(stack, members, [row]) if decoded else []
        log.info("%s: %.2f s", row.problems.name, time.perf_counter() - start)
    return [*forced, *written]


def evaluate_text(
    model: TextModel, config: RunConfig, prompts: Prompts, name: str, *, watch: Watch = unwatched
) -> Evaluation:
    """Measure a model that answers in text on what a config asks; records call it by this name."""
    spec = config.spec
    found = ask(model, spec, prompts, config.evaluation.problems, watch)
    records = [*text_records(spec, name, found, reverse=prompts.reverse)]
    judged = verdicts(spec.predictions(), spec.train, records)
    return Evaluation(records, judged, [], functions=find_functions(spec.task, found))


def _domains(run: Run, test: str | None) -> Sequence[Domain]:
    """Those to test on, which the run must have room for."""
    domains = run.config.spec.tests if test is None else parse_test_domains(test, run.config.base)
    width, longest = run.stack.layout.operand_width, max(domain.length for domain in domains)
    if longest > width:
        raise InputError(
            f"{run.folder.path} takes operands of up to {width} digits, not {longest} "
            f"(train with --data.operand-width {longest} to have room for them)"
        )
    for domain in domains:
        run.check_room(domain.answer_digits(run.config.spec.task), f"the longest answer of {domain}")
    return domains


def _given(run: Run, path: Path | str) -> Row:
    width, base = run.stack.layout.operand_width, run.config.base
    problems = given_problems(Path(path), run.config.spec.task, 1, width, run.stack.device)
    run.check_answers(zip(to_ints(problems.a, base), to_ints(problems.b, base), strict=True))
    return given_row(run.stack, problems)


def _dependence(run: Run, records: Sequence[Record]) -> Dependence:
    spec = run.config.spec
    return dependence_of(records, spec.task, spec.predicted_hypothesis(_longest_tested(run.stack)))


def _answered(run: Run, rows: Sequence[Row]) -> list[Answered]:
    """Decoded answers as numbers."""
    found: list[Answered] = []
    for row in rows:
        read = [run.stack.layout.read_answer(ids) for ids in decode(run.stack, row.problems.pair)[0]]
        numbers = [answer if isinstance(answer, int) else None for answer in read]
        found.append(Answered(row.problems, numbers, run.config.base))
    return found


def find_errors(run: Run, rows: Sequence[Row], count: int) -> list[Answer]:
    """The first wrong answers, by decoding, row after row."""
    found, layout = list[Answer](), run.stack.layout
    for row in rows:
        if len(found) == count:
            break
        pair, answers = row.problems.pair, decode(run.stack, row.problems.pair)
        exact = split_failures(answers, layout, pair, row.truth).exact[0]
        wrong = (~exact).nonzero().flatten()[: count - len(found)]
        operands = (to_ints(side[0, wrong], run.config.base) for side in pair)
        read = (layout.read_answer(ids) for ids in answers[0, wrong])
        found += [run.compare(a, b, answer) for a, b, answer in zip(*operands, read, strict=True)]
    return found
