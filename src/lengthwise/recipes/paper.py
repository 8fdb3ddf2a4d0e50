"""Recipes of the paper's tables (sums, products and residues) and figures (frequent evaluations during training,
and several model and sample sizes); and controls.

Models are MiniGPT, and MicroGPT for products of up to two digits. Sums modulo p are trained on D4 and products
modulo p on D3, as in the paper (it primes one row, sums modulo 150, with shorter operands; here no row is primed).
"""

import json
import math
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from lengthwise.recipes import (
    OPPOSITE,
    Setting,
    Tuning,
    Words,
    last,
    others,
    paper_run,
    small,
    small_tuned,
)
from lengthwise.recipes.configure import Rows, fast
from lengthwise.records.analysis import learned_at, learning_order
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, judge
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

SUM_TRAIN = ("D4", "B4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7")
PAPER_SAMPLES = {"D6+D7": 120_000}
# Training domains of products, and the model's size. The last one is in the paper's source but not in its tables.
PRODUCT_TRAIN = {"D1+D2": "micro", "D2": "micro", "D3": "mini", "D2+D3+D4": "mini", "D3+D4": "mini"}
SUM_MODULI, PRODUCT_MODULI = (50, 51, 100, 101, 150, 151, 200, 201), (50, 51, 100, 101, 150, 200, 201)
PAPER_RESIDUE_TRAIN = {"add%150": "D1..4"}

OF_SUMS: dict[str, Any] = {"dependence": True}
OF_OTHERS: dict[str, Any] = {"digits": True, "dependence": True}


def addition_rows(setting: Setting) -> Rows:
    return {f"addition-{train}": sums(setting, train) for train in setting.pick(SUM_TRAIN, ("B2", "D1+D2"))}


def sums(setting: Setting, train: str) -> RunConfig:
    """A run on sums, tested on D1 to D9."""
    run = paper_run(setting, "add", train, setting.pick("D1..9", "D1..3")).changed(evaluation=OF_SUMS)
    if setting.preset == "paper" and train in PAPER_SAMPLES:
        return run.changed(data={"samples": PAPER_SAMPLES[train]})
    return run


def multiplication_rows(setting: Setting) -> Rows:
    sizes, test = setting.pick((PRODUCT_TRAIN, "D1..9"), ({"D1+D2": "nano"}, "D1..3"))
    runs = {train: paper_run(setting, "mul", train, test, size=size) for train, size in sizes.items()}
    return {f"multiplication-{train}": run.changed(evaluation=OF_OTHERS) for train, run in runs.items()}


def modular_addition_rows(setting: Setting) -> Rows:
    moduli, train = setting.pick((SUM_MODULI, "D4"), ((35, 36), "D1+D2"))
    return {f"modular-addition-p{p}": _residues(setting, f"add%{p}", train) for p in moduli}


def modular_multiplication_rows(setting: Setting, tuning: Tuning | None = None) -> Rows:
    moduli, train = setting.pick((PRODUCT_MODULI, "D3"), ((13, 16), "D1+D2"))
    return {f"modular-multiplication-p{p}": _residues(setting, f"mul%{p}", train, tuning) for p in moduli}


def _residues(setting: Setting, task: str, train: str, tuning: Tuning | None = None) -> RunConfig:
    if setting.preset == "paper":
        train = PAPER_RESIDUE_TRAIN.get(task, train)
    run = paper_run(setting, task, train, setting.pick("B1..9", "B1..3"), tuning, answer_width=3)
    return run.changed(evaluation=OF_OTHERS)


def table_rows(setting: Setting) -> Rows:
    """The rows of all tables of the paper."""
    tables = (addition_rows, modular_addition_rows, multiplication_rows, modular_multiplication_rows)
    return {name: config for rows in tables for name, config in rows(setting).items()}


# Sums are learned in about 300 steps, so evaluations are frequent and the run is short.
WATCHED_TUNING = Tuning(steps=800, evaluate_every=10)
WATCHED: dict[str, Any] = {"digits": True, "dynamics": True, "interim_problems": 500}

SCALES_TUNING = Tuning(steps=2_000, evaluate_every=100)
SCALES_TRAIN = ("D4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7")


def watched_rows(setting: Setting) -> Rows:
    """Sums tested on each length, and on one sample of all lengths, the paper's D<=9."""
    domains, longest = setting.pick((("D4", "D5", "D4+D5"), 9), (("D2", "D3", "D2+D3"), 4))
    changes: dict[str, Any] = setting.pick({}, {"base": 4, "training": {"evaluate_every": 250}})
    runs = {t: paper_run(setting, "add", t, each_and_all(longest), WATCHED_TUNING) for t in domains}
    return {f"dynamics-{train}": run.changed(evaluation=WATCHED, **changes) for train, run in runs.items()}


def each_and_all(longest: int) -> str:
    """
    >>> each_and_all(3)
    'D1..3,D1+D2+D3'
    """
    return f"D1..{longest}," + "+".join(f"D{n}" for n in range(1, longest + 1))


def all_digits_rows(setting: Setting) -> Rows:
    tables = table_rows(setting).items()
    sums = addition_rows(setting)
    return {**watched_rows(setting), **{name: config for name, config in tables if name not in sums}}


def scales_rows(setting: Setting) -> Rows:
    """Residues and products with all digits during training; one longer length shows whether the rest is
    ignored."""
    sizes = setting.pick(("nano", "micro", "mini"), ("width32", "width64"))
    samples = setting.pick({"100k": 100_000, "200k": 200_000}, {"300": 300, "1k": 1_000})
    return {
        f"scales-{size}-{count}-{train}": _scaled(setting, size, train).changed(data={"samples": samples[count]})
        for size in sizes
        for count in samples
        for train in setting.pick(SCALES_TRAIN, ("D2", "D1+D2"))
    }


def _scaled(setting: Setting, size: str, train: str) -> RunConfig:
    if not setting.laptop:
        return paper_run(setting, "add", train, "D9", SCALES_TUNING, size=size)
    width, training = int(size.removeprefix("width")), {"steps": 1_000, "evaluate_every": 100}
    return small_tuned("add", train).changed(model={"width": width}, training=training)


def learned_in_order(run: RunView, order: str) -> Words:
    """Whether the top positions are the first or the last to be learned."""
    return [getattr(learning_order(run.records, run.train), order)]


def mixture_is_easier(run: RunView, runs: Sequence[RunView]) -> Words:
    """D4+D5 reaches 99 % on its own domain in fewer steps than D5, all else equal."""
    if str(run.train) != "D4+D5":
        return []
    alone = [other for other in runs if str(other.train) == "D5" and _all_else(other) == _all_else(run)]
    steps = [(learned_step(run), learned_step(other)) for other in alone]
    return [UNDECIDED if own == other else HOLDS if own < other else FAILS for own, other in steps]


def _all_else(run: RunView) -> str:
    """A run's config without its training domain."""
    return json.dumps({**run.config, "train": None}, sort_keys=True)


def learned_step(run: RunView) -> float:
    """The first step from which accuracy on the training domain stays at 99 % or more; infinity if there is
    none."""
    history = run.history("exact", run.train, TRUTH)
    step = learned_at({step: (record.correct or 0) / record.total for step, record in history.items()})
    return math.inf if step is None else step


# --- controls beside the tables --------------------------------------------------------------------------------

DRAW = 2025
"""The seed by which the questions are drawn. It was committed before any of them was trained."""
BASES, MODULI, LENGTHS = range(4, 17), range(3, 251), {"add": range(2, 6), "mul": range(2, 4)}

# One row of each table.
CONTROLLED = ("addition-D4", "modular-addition-p101", "multiplication-D3", "modular-multiplication-p51")
LAPTOP_CONTROLLED = ("addition-D1+D2", "modular-addition-p35")
SECONDS = 150
"""Training time of each row as printed: ten minutes in all."""

# Version 0.1's setting for products modulo p: no dropout, and no sparse digits.
PLATEAUS_TUNING = Tuning(steps=6_000, batch=512, dropout=0.0, decay=0.1, position_std=1.2, evaluate_every=1_000)

PACKING_TUNING = Tuning(steps=4_000)

INTERVENED = (
    *("addition-D4", "addition-D4+D5", "multiplication-D2"),
    *("modular-addition-p100", "modular-addition-p101", "modular-addition-p150"),
    *("modular-multiplication-p100", "modular-multiplication-p101"),
)
LAPTOP_INTERVENED = ("addition-D1+D2", "modular-addition-p35", "modular-addition-p36")


def question_rows(setting: Setting) -> Rows:
    """Twenty questions, each trained as by `lengthwise train TASK --train Dn --base B` with no other option."""
    draws = random.Random(DRAW)
    drawn = [_question(draws, setting) for _ in range(setting.pick(20, 2))]
    return {f"questions-{k:02}": config for k, config in enumerate(drawn, start=1)}


def _question(draws: random.Random, setting: Setting) -> RunConfig:
    """A random question: sum or product, with or without a modulus, a base and a length, all independent and
    uniform."""
    operation, modular = draws.choice(sorted(LENGTHS)), draws.choice([False, True])
    base, modulus, length = draws.choice(BASES), draws.choice(MODULI), draws.choice(LENGTHS[operation])
    task = f"{operation}%{modulus}" if modular else operation
    if setting.laptop:
        return small(task, "D2").changed(base=4)
    return fast(task).changed(train=f"D{length}", base=base)


def fixed_samples_rows(setting: Setting) -> Rows:
    """One row of each table on fixed samples, of which nine tenths, 90,000 as in the paper, are for training. A
    fixed set has no sparse digits."""
    data = {"samples": setting.pick(100_000, 500), "sparse": 0.0}
    return {f"fixed-samples-{name}": config.changed(data=data) for name, config in _controlled(setting).items()}


def as_printed_rows(setting: Setting) -> Rows:
    rows = _controlled(setting.pick(Setting(preset="paper"), setting))
    training = setting.pick({"seconds": SECONDS}, {})
    return {f"as-printed-{name}": config.changed(training=training) for name, config in rows.items()}


def _controlled(setting: Setting) -> Rows:
    rows = table_rows(setting)
    return {name: rows[name] for name in setting.pick(CONTROLLED, LAPTOP_CONTROLLED)}


def counterexample_rows(setting: Setting) -> Rows:
    """Training domains that show too few values of the top digits. The row B4 is that of the addition tables."""
    # Names of rows, and their training domains.
    named = setting.pick(
        {"D4-lead6": "D4[lead>=6]", "D1..9": "D1..9"}, {"D2-lead3": "D2[lead>=3]", "D1..3": "D1..3"}
    )
    both_long = setting.pick("B4", "B2")
    rows = {f"counterexample-{name}": sums(setting, train) for name, train in named.items()}
    return {**rows, f"addition-{both_long}": sums(setting, both_long)}


def plateau_rows(setting: Setting) -> Rows:
    """Products modulo p with an earlier setting, without sparse digits: in the tables, plateaus are rare."""
    rows = modular_multiplication_rows(setting, PLATEAUS_TUNING)
    unsparse = {name: row.changed(data={"sparse": 0.0}) for name, row in rows.items()}
    return {name.replace("modular-multiplication", "plateaus"): row for name, row in unsparse.items()}


def packing_rows(setting: Setting) -> Rows:
    """Both packings, in the layout of the paper's example, `123+45=168`, where problems differ in length."""
    train, test = setting.pick(("D1..4", "D1..9"), ("D1+D2", "D1..3"))
    run = paper_run(setting, "add", train, test, PACKING_TUNING).changed(layout="plain")
    return {f"packing-{way}": run.changed(data={"packing": way}) for way in ("lines", "concatenated")}


def intervened_rows(setting: Setting) -> Rows:
    chosen = setting.pick(INTERVENED, LAPTOP_INTERVENED)
    return {name: config for name, config in table_rows(setting).items() if name in chosen}


def _representatives() -> list[RunConfig]:
    """A grid for one row of each table. It is not in the paper, so it starts from the preset `fast` with every
    preset."""
    sums, products = (Tuning(steps=steps, evaluate_every=1_000) for steps in (2_000, 4_000))
    return [
        paper_run(Setting(), "add", "D4", "D1..9", sums),
        paper_run(Setting(), "add%101", "D1..4", "B1..9", sums, answer_width=3),
        paper_run(Setting(), "mul", "D2", "D1..9", products, size="micro"),
        paper_run(Setting(), "mul%51", "D3", "B1..9", products, answer_width=3),
    ]


def regularization_rows(setting: Setting) -> Rows:
    starts = [small_tuned(task, "D1+D2") for task in ("add", "add%35")] if setting.laptop else _representatives()
    dropouts, decays = setting.pick(((0.0, 0.1, 0.2), (0.0, 0.05, 0.3)), ((0.0, 0.2), (0.0, 0.3)))
    return {
        f"regularization-{start.task.replace('%', '-mod-')}-dropout{dropout:g}-decay{decay:g}": start.changed(
            model={"dropout": dropout}, training={"weight_decay": decay}
        )
        for start, dropout, decay in product(starts, dropouts, decays)
    }


# A modulus, a base of which it divides a power, and a base of which it divides no power.
DIVIDED = {81: (9, 10), 49: (7, 10), 64: (8, 9)}
# On a laptop: sums of two digits. These bases have more pairs than that of other small runs and train for longer.
SMALL_BASES: dict[str, Any] = {
    "model": {"heads": 12},
    "data": {"sparse_problems": 100_000},
    "training": {"steps": 6_000, "batch": 64, "cooldown": 4_000},
    "evaluation": {"problems": 10_000},
}


def bases_rows(setting: Setting) -> Rows:
    """The same modulus in two bases: only the way numbers are written differs."""
    prefix, operations = setting.pick(("bases", ("add", "mul")), ("bases-small", ("add",)))
    rows: Rows = {}
    for operation, (p, bases) in product(operations, DIVIDED.items()):
        task = f"{operation}%{p}"
        start = fast(task).changed(train="D3")
        if setting.laptop:
            start = small(task, "D1..2", "B1..4").changed(**SMALL_BASES)
        rows |= {f"{prefix}-{operation}-{p}-base{base}": start.changed(base=base) for base in bases}
    return rows


def unseen_rows(setting: Setting) -> Rows:
    """Size of position embeddings, weight decay and dropout: what makes a model ignore digits it never saw?"""
    grid = product((0.3, 1.0, 3.0, 6.0), (0.01, 0.1, 0.3), (0.0, 0.1, 0.2))
    name = setting.pick("unseen", "unseen-small")
    start = small("add", "D2", "D1..5") if setting.laptop else fast("add", "micro").changed(test="D1..9")
    return {
        f"{name}-positions{std:g}-decay{decay:g}-dropout{dropout:g}": start.changed(
            model={"position_std": std, "dropout": dropout},
            training={"weight_decay": decay},
            evaluation={"dependence": True},
        )
        for std, decay, dropout in grid
    }


def top_digit_stuck(run: RunView) -> Words:
    """Trained where digit n + 1 is always 1, a model does not write the 0 that shorter operands need there."""
    if not any(part.lead for part in run.train.parts):
        return []
    n = run.train.length
    shorter = {str(domain) for domain in run.tests if domain.length < n}
    top = last(run, lambda r: (r.metric, r.reference) == (f"digit:{n + 1}", TRUTH) and r.domain in shorter)
    return [judge(others(counts), run.converged) for counts in top]


def both_long_is_not_enough(run: RunView) -> Words:
    """Trained on Bn, a model is wrong on some sums one digit shorter: it never saw a zero top digit."""
    if {part.kind for part in run.train.parts} != {"B"}:
        return []
    shorter = run.final_counts[f"D{run.train.length - 1}", TRUTH]
    return [OPPOSITE[judge(shorter, run.converged) or UNDECIDED]]


def all_lengths_learned(run: RunView) -> Words:
    return [verdict.word for verdict in run.verdicts()] if len(run.train.parts) > 1 else []


def unread_digits_dead(run: RunView) -> Words:
    """Changing an operand digit above those that matter changes no answer digit."""
    longest = max(run.tests, key=lambda domain: domain.length)
    if run.spec.predicted_hypothesis(longest) is None:
        return []
    above = digits_that_matter(run)
    dead = last(run, lambda r: r.metric.startswith("depends:") and int(r.metric.split(":")[2]) > above)
    return [judge(others(counts), run.converged) for counts in dead]


def digits_that_matter(run: RunView) -> int:
    """n, or the smallest k such that p divides base^k if that is less."""
    task, n = run.task, run.train.length
    if task.modulus is None:
        return n
    return next((k for k in range(1, n) if task.base**k % task.modulus == 0), n)
