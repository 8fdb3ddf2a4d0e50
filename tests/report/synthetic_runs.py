"""Run folders with records as a run that follows theory would leave them, made without a model."""

from math import exp

from lengthwise.records.folder import RunFolder
from lengthwise.records.schema import Record
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig
from lengthwise.theory.accuracy import dependence_matrix
from lengthwise.theory.columns import digit_accuracy
from lengthwise.theory.hypotheses import TRUTH

TOTAL = 1_000


def synthetic_run(folder, config, *, name="run", steps=(0, 100, 200, 300), learned=None, follows=None):
    """`learned` says what share of its final accuracy a digit has at a step, 0 standing for the whole answer;
    `follows` how often the trained model does what theory says on a domain."""
    learned, follows = learned or rising(150), follows or (lambda domain: 1.0)
    config = RunConfig.stored(**{"seed": named_seed(name), **config}) if isinstance(config, dict) else config
    run = RunFolder.claim(folder / name, config.model_dump(mode="json"), {})
    view = RunView(run)
    for step in steps:
        run.append(_evaluation(view, config, step, learned, follows, last=step == max(steps)))
    run.set_status("done")
    return RunView(run)


def named_seed(name):
    """That of ROW-sSEED, and 0 of other names."""
    seed = name.rpartition("-s")[2]
    return int(seed) if seed.isdigit() else 0


def rising(middle, width=40.0, apart=0.0):
    """Digits rise one after the other, `apart` steps between them."""
    return lambda step, digit: 1 / (1 + exp(-(step - middle - apart * digit) / width)) if step else 0.0


def record_maker(view, step):
    def make(domain, metric="exact", share=None, *, reference="truth", mode="forced", value=None, total=TOTAL):
        return Record(
            run=view.name,
            seed=view.seed,
            step=step,
            task=str(view.task),
            base=view.task.base,
            domain=str(domain),
            reference=reference,
            mode=mode,
            metric=metric,
            correct=None if share is None else round(float(share) * total),
            value=value,
            total=total,
            selection="sampled",
        )

    return make


def _evaluation(view, config, step, learned, follows, *, last):
    make = record_maker(view, step)
    records = [make(view.train, "train_loss", value=2.3 * (1 - learned(step, 0)) + 0.002)] if step else []
    for row in view.spec.predictions(config.spec.measured_domains()):
        whole = learned(step, 0) * follows(row.domain)
        exact = row.accuracy if row.accuracy is not None else 0.5
        records.append(make(row.domain, share=whole * exact))
        if row.hypothesis is not None and row.hypothesis != TRUTH:
            records.append(make(row.domain, share=whole, reference=str(row.hypothesis)))
        if config.evaluation.digits or last:
            records += [
                make(row.domain, f"digit:{d}", _digit(view, row, d, learned(step, d))) for d in _digits(config)
            ]
    if config.evaluation.dynamics:
        digits = range(1, config.spec.train.length + 2)
        records += [make(view.train, f"r2:{d}", mode="decoded", value=0.95 * learned(step, d)) for d in digits]
    if config.evaluation.dependence and last:
        records += _dependence(view, make)
    return records


def _digits(config):
    return range(1, config.answer_width + 1)


def _digit(view, row, digit, learned):
    if view.task.operation == "add" and view.task.modulus is None and row.hypothesis is not None:
        end = float(digit_accuracy(row.hypothesis, row.domain, digit))
        return 0.1 + (end - 0.1) * learned
    return 0.1 + 0.9 * learned


def _dependence(view, make):
    domain = max(view.tests, key=lambda d: d.length)
    hypothesis = view.spec.predictions([domain])[0].hypothesis
    if hypothesis is None:
        return []
    matrix = dependence_matrix(view.task, hypothesis, domain.length)
    return [
        make(domain, f"depends:{i}:{j}", share=0.5 if cell is None else cell, mode="decoded")
        for i, row in enumerate(matrix, start=1)
        for j, cell in enumerate(row, start=1)
    ]
