"""Controls beside the paper's tables: questions that nobody chose, the paper's data and hyperparameters, training
sets that show too little, plateaus, packing, what answer digits depend on, regularization, a modulus in two bases,
and what makes a model ignore digits that it never saw."""

import random
from itertools import product

from lengthwise.recipes import paper
from lengthwise.recipes.configure import Rows, fast
from lengthwise.recipes.recipe import (
    FRESH_SEEDS,
    OPPOSITE,
    Recipe,
    Setting,
    Tuning,
    Words,
    last,
    others,
    paper_run,
    small,
    small_tuned,
)
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import UNDECIDED, judge
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

DRAW = 2025
"""What the questions are drawn by. It was committed before any of them was trained."""
BASES, MODULI, LENGTHS = range(4, 17), range(3, 251), {"add": range(2, 6), "mul": range(2, 4)}

# One row of each table.
CONTROLLED = ("addition-D4", "modular-addition-p101", "multiplication-D3", "modular-multiplication-p51")
LAPTOP_CONTROLLED = ("addition-D1+D2", "modular-addition-p35")
SECONDS = 150
"""Of training for each row as printed: ten minutes in all."""

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
    """Each is trained as `lengthwise train TASK --train Dn --base B` does it, with no other option."""
    draws = random.Random(DRAW)
    drawn = [_question(draws, setting) for _ in range(setting.pick(20, 2))]
    return {f"questions-{k:02}": config for k, config in enumerate(drawn, start=1)}


def _question(draws: random.Random, setting: Setting) -> RunConfig:
    """Sum or product, with a modulus or without, a base and a length: each alike, independently."""
    operation, modular = draws.choice(sorted(LENGTHS)), draws.choice([False, True])
    base, modulus, length = draws.choice(BASES), draws.choice(MODULI), draws.choice(LENGTHS[operation])
    task = f"{operation}%{modulus}" if modular else operation
    if setting.laptop:
        return small(task, "D2").changed(base=4)
    return fast(task).changed(train=f"D{length}", base=base)


def fixed_samples_rows(setting: Setting) -> Rows:
    """Nine tenths of the samples are trained on, 90,000 as in the paper. What is fixed cannot be made sparse."""
    data = {"samples": setting.pick(100_000, 500), "sparse": 0.0}
    return {f"fixed-samples-{name}": config.changed(data=data) for name, config in _controlled(setting).items()}


def as_printed_rows(setting: Setting) -> Rows:
    rows = _controlled(setting.pick(Setting(preset="paper"), setting))
    training = setting.pick({"seconds": SECONDS}, {})
    return {f"as-printed-{name}": config.changed(training=training) for name, config in rows.items()}


def _controlled(setting: Setting) -> Rows:
    rows = paper.table_rows(setting)
    return {name: rows[name] for name in setting.pick(CONTROLLED, LAPTOP_CONTROLLED)}


def counterexample_rows(setting: Setting) -> Rows:
    """The row B4 is the one of the addition tables."""
    # What a row is called, and what it is trained on.
    named = setting.pick(
        {"D4-lead6": "D4[lead>=6]", "D1..9": "D1..9"}, {"D2-lead3": "D2[lead>=3]", "D1..3": "D1..3"}
    )
    both_long = setting.pick("B4", "B2")
    rows = {f"counterexample-{name}": paper.sums(setting, train) for name, train in named.items()}
    return {**rows, f"addition-{both_long}": paper.sums(setting, both_long)}


def plateau_rows(setting: Setting) -> Rows:
    """Products modulo p without the curriculum of sparse digits, which takes a model off its plateaus."""
    rows = paper.modular_multiplication_rows(setting, PLATEAUS_TUNING)
    unsparse = {name: row.changed(data={"sparse": 0.0}) for name, row in rows.items()}
    return {name.replace("modular-multiplication", "plateaus"): row for name, row in unsparse.items()}


def packing_rows(setting: Setting) -> Rows:
    """In the layout of the paper's example, `123+45=168`, where problems differ in length."""
    train, test = setting.pick(("D1..4", "D1..9"), ("D1+D2", "D1..3"))
    run = paper_run(setting, "add", train, test, PACKING_TUNING).changed(layout="plain")
    return {f"packing-{way}": run.changed(data={"packing": way}) for way in ("lines", "concatenated")}


def intervened_rows(setting: Setting) -> Rows:
    chosen = setting.pick(INTERVENED, LAPTOP_INTERVENED)
    return {name: config for name, config in paper.table_rows(setting).items() if name in chosen}


def _representatives() -> list[RunConfig]:
    """A row for each table. The grid is ours, so it starts from the preset `fast` whatever was asked for."""
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


# A modulus, a base of which it divides a power, and one of which it divides none.
DIVIDED = {81: (9, 10), 49: (7, 10), 64: (8, 9)}


def bases_rows(setting: Setting) -> Rows:
    """The same residues, written in two bases: only how numbers are written differs."""
    rows: Rows = {}
    for operation, (p, bases) in product(("add", "mul"), setting.pick(DIVIDED, {16: (4, 5)}).items()):
        task = f"{operation}%{p}"
        start = small(task, "D2") if setting.laptop else fast(task).changed(train="D3")
        rows |= {f"bases-{operation}-{p}-base{base}": start.changed(base=base) for base in bases}
    return rows


def unseen_rows(setting: Setting) -> Rows:
    """Size of position embeddings, weight decay and dropout: what makes a model ignore digits it never saw?"""
    grid = setting.pick(((0.3, 1.0, 3.0, 6.0), (0.01, 0.1, 0.3), (0.0, 0.1, 0.2)), ((0.5, 1.5), (0.3,), (0.1,)))
    start = small("add", "D2") if setting.laptop else fast("add", "micro").changed(test="D1..9")
    return {
        f"unseen-positions{std:g}-decay{decay:g}-dropout{dropout:g}": start.changed(
            model={"position_std": std, "dropout": dropout},
            training={"weight_decay": decay},
            evaluation={"dependence": True},
        )
        for std, decay, dropout in product(*grid)
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
    """Trained on Bn, a model misses some sums one digit shorter: it never saw an empty top digit."""
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
    """n, or the least k with p dividing base^k where that is less."""
    task, n = run.task, run.train.length
    if task.modulus is None:
        return n
    return next((k for k in range(1, n) if task.base**k % task.modulus == 0), n)


RECIPES = (
    Recipe("questions", question_rows, FRESH_SEEDS[:1]),
    Recipe("fixed-samples", fixed_samples_rows, FRESH_SEEDS),
    Recipe("as-printed", as_printed_rows, FRESH_SEEDS[:1]),
    Recipe("counterexample", counterexample_rows, FRESH_SEEDS),
    Recipe("plateaus", plateau_rows),
    Recipe("packing", packing_rows),
    Recipe("dependence", intervened_rows, FRESH_SEEDS),
    Recipe("regularization", regularization_rows),
    Recipe("base-or-modulus", bases_rows, FRESH_SEEDS),
    Recipe("unseen-digits", unseen_rows, FRESH_SEEDS[:2]),
)
