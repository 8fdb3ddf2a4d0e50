"""Evaluating a stack on its domains: records, by teacher forcing and by decoding."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

from lengthwise.arithmetic import Domain
from lengthwise.evaluation.anatomy import measure_anatomy
from lengthwise.evaluation.candidates import measure_candidates
from lengthwise.evaluation.dependence import measure_dependence
from lengthwise.evaluation.dynamics import measure_dynamics
from lengthwise.evaluation.failures import decode, split_failures
from lengthwise.evaluation.measure import Question, Row, ask, measure, measure_decoded
from lengthwise.evaluation.problems import Problems, test_problems
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Subject
from lengthwise.evaluation.seen import MeasuredMember
from lengthwise.evaluation.sets import set_strata
from lengthwise.evaluation.steps import measure_steps
from lengthwise.evaluation.strata import Drawing, Strata, chain_strata, measure_strata, pair_strata
from lengthwise.evaluation.written import Probed, written_digits
from lengthwise.records.schema import Record
from lengthwise.runs.build import Parts, training_layout
from lengthwise.runs.config import RunConfig
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.reserve import WHOLE_LIMIT
from lengthwise.training.data import problems_per_row


class Assessment:
    """Measures a stack on the training domain and on every test domain, as often as asked to.

    Between steps there are fewer problems, and always the same.
    """

    def __init__(self, parts: Parts, names: Sequence[str]) -> None:
        self.parts, self.names = parts, names

    def __call__(self, steps: Sequence[int], *, detail: bool) -> list[Record]:
        """Records of all members after so many steps each; `detail` is for the evaluation after the last one."""
        parts, config = self.parts, self.parts.configs[0].evaluation
        members = measured_members(parts, self.names, steps)
        questions = self._questions(interim=False) if detail else self._interim
        subject = Subject(parts.model, parts.layout, parts.encoding)
        told = detail and config.details
        records = measure(subject, members, questions, detail=told, digits=config.digits)
        if config.dynamics:
            records += measure_dynamics(_probed(parts, members), config.interim_problems)
        if config.dependence and detail:
            records += assess_dependence(parts, members)
        if detail:
            records += measure_strata(subject, members, _strata(parts))
            rows = [question.row for question in questions]
            records += measure_candidates(subject, members, rows, _candidates(parts))
            if layout_facts(parts.configs[0].resolved_layout).with_steps:
                records += measure_steps(subject, members, rows)
        if config.decoded and detail:
            records += assess_decoded(parts, members, few_rows(parts, config.decoded))
        if config.anatomy and detail:
            records += measure_anatomy(subject, members, few_rows(parts, config.anatomy))
        return records

    @cached_property
    def _interim(self) -> list[Question]:
        return self._questions(interim=True)

    def _questions(self, *, interim: bool) -> list[Question]:
        rows = domain_rows(self.parts, interim=interim)
        return ask(
            measured_members(self.parts, self.names, [0] * len(self.names)), rows, self.parts.layout.answer_width
        )


def assess_dependence(parts: Parts, members: Sequence[MeasuredMember]) -> list[Record]:
    """What the answers depend on, with operands of the longest length tested."""
    config = parts.configs[0]
    return measure_dependence(
        _probed(parts, members), dependence_length(config), config.evaluation.interim_problems
    )


def dependence_length(config: RunConfig) -> int:
    return max(domain.length for domain in config.test_domains)


def assess_decoded(parts: Parts, members: Sequence[MeasuredMember], rows: Sequence[Row]) -> list[Record]:
    """Records of real decoding, against truth."""
    records: list[Record] = []
    for row in rows:
        pair = row.problems.a, row.problems.b
        tasks = [member.task for member in members]
        truth = reference_answers(tasks, [TRUTH] * len(tasks), *pair, parts.layout.answer_width)
        answers = decode(parts.model, parts.layout, parts.encoding, pair)
        decoded = split_failures(answers, parts.layout, pair, truth)
        records += measure_decoded(members, row, decoded, str(TRUTH))
    return records


def domain_rows(parts: Parts, domains: Sequence[Domain] | None = None, *, interim: bool = False) -> list[Row]:
    """A row for each domain; by default for each that any member is to be measured on.

    An interim evaluation has fewer problems, and takes whole only what is no larger than that.
    """
    if domains is None:
        domains = list(dict.fromkeys(domain for config in parts.configs for domain in config.measured_domains))
    evaluation = parts.configs[0].evaluation
    count, whole = evaluation.problems, WHOLE_LIMIT
    if interim:
        count, whole = min(count, evaluation.interim_problems), min(whole, evaluation.interim_problems)
    return [_row(parts, domain, count, whole) for domain in domains]


def few_rows(parts: Parts, count: int) -> list[Row]:
    """A row of no more than so many problems for each test domain, which all members share."""
    return [_row(parts, domain, count, count) for domain in parts.configs[0].test_domains]


def _row(parts: Parts, domain: Domain, count: int, whole: int) -> Row:
    width, device = parts.layout.operand_width, parts.model.device
    return Row(
        test_problems(domain, parts.seeds, width, count, device, whole=whole),
        domain,
        [config.spec.measured_hypothesis(domain) for config in parts.configs],
    )


def given_row(parts: Parts, problems: Problems) -> Row:
    """A row of a user's own pairs: the prediction is that for the shortest domain that holds them all."""
    used = (problems.a | problems.b).flatten(0, 1).any(0).nonzero().flatten().tolist()
    longest = max(used, default=0) + 1
    domain = Domain.parse(f"D{longest}", parts.configs[0].base)
    return Row(problems, None, [config.spec.predicted_hypothesis(domain) for config in parts.configs])


def measured_members(parts: Parts, names: Sequence[str], steps: Sequence[int]) -> list[MeasuredMember]:
    """Who is measured, each after so many steps."""
    per_row = problems_per_row(training_layout(parts.configs[0], parts.layout), parts.configs[0].data)
    return [
        MeasuredMember(
            run=name,
            seed=config.seed,
            task=config.task_object,
            train=config.train_domain,
            step=step,
            draws=step * config.training.batch * per_row,
            data=config.data,
        )
        for name, config, step in zip(names, parts.configs, steps, strict=True)
    ]


def training_accuracies(parts: Parts, names: Sequence[str], records: Sequence[Record]) -> list[float]:
    """Each member's share of right answers on that length of its training domain where it is least."""
    found = {
        (r.run, r.domain): r.correct / r.total
        for r in records
        if (r.metric, r.reference, r.mode) == ("exact", "truth", "forced") and r.correct is not None
    }
    return [
        min(found[name, str(part)] for part in config.train_domain.separate_parts())
        for name, config in zip(names, parts.configs, strict=True)
    ]


def _probed(parts: Parts, members: Sequence[MeasuredMember]) -> Probed:
    layout = parts.layout
    return Probed(
        write=partial(written_digits, parts.model, layout, parts.encoding),
        members=members,
        operand_width=layout.operand_width,
        answer_width=layout.answer_width,
        device=parts.model.device,
    )


def _strata(parts: Parts) -> list[Strata]:
    """What the evaluation config asks for besides domains. All members have the same, as they are one stack."""
    config, width, device = parts.configs[0], parts.layout.operand_width, parts.model.device
    evaluation, strata = config.evaluation, []
    drawing = Drawing(parts.seeds, width, config.base, evaluation.problems, device)
    if evaluation.chains:
        strata += chain_strata(domain_rows(parts), drawing, _candidates(parts))
    if evaluation.pairs:
        strata.append(pair_strata(replace(drawing, count=evaluation.pairs)))
    for length in dict.fromkeys(domain.length for domain in config.test_domains):
        strata += [set_strata(name, drawing, length) for name in dict.fromkeys(evaluation.sets)]
    return strata


def _candidates(parts: Parts) -> list[Hypothesis]:
    return [Hypothesis.parse(name) for name in parts.configs[0].evaluation.hypotheses]
