"""Recipes of positional encodings: Table 1, also in miniature for the demo, and claims on relative positions.

These experiments are not in the paper, so they start from Muon and new problems with every preset.
"""

from dataclasses import replace
from itertools import product
from typing import Any

from lengthwise.recipes import (
    OPPOSITE,
    SMALL_RELATIVE,
    Setting,
    Tuning,
    Words,
    chains_seen,
    chains_unseen,
    compared,
    generalizes,
    last,
    mark_verdict,
    others,
    small,
    small_tuned,
)
from lengthwise.recipes.configure import Rows, muon
from lengthwise.recipes.long_operands import LAPTOP_TUNING, POSITION_ONLY_TUNING, position_only
from lengthwise.records.verdicts import UNDECIDED, Measured, judge
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig
from lengthwise.theory.encodings import encoding_facts, layout_facts
from lengthwise.theory.rules import TABLE_1_ENCODINGS, window_bound

DISTANCE = ("rotary", "alibi", "t5", "shaw", "fire")
"""Encodings of distances between tokens: only the layout `aligned` has digits at equal distances."""
RELATIVE, LAPTOP_RELATIVE = (*DISTANCE, "abacus", "coupled"), ("rotary", "coupled")
"""The last two number digits by significance, so that distances are equal in any layout."""
# Position-only attention makes an assumption of the theory true: sums have such rows too.
POSITION_ONLY = "coupled-by-place"
OF_SUMS = (*RELATIVE, POSITION_ONLY)

# Attention that cannot become too sharp generalizes further; no digits need to be ignored, so there is no dropout.
SHAPE: dict[str, Any] = {"normalized_attention": True}
LAPTOP_TRAINING: dict[str, Any] = {"steps": 1_200, "batch": 48, "learning_rate": 1e-3, "weight_decay": 0.1}
# Hundreds of runs that are analysed by length: records of every digit would take tens of megabytes.
MEASURED: dict[str, Any] = {"details": False, "problems": 2_000}


def run(setting: Setting, tuning: Tuning, task: str, train: str, test: str, **changes: Any) -> RunConfig:
    """A run with changes; at laptop scale all have the same tuning."""
    if setting.laptop:
        start = small_tuned(task, train, test).changed(**changes)
        return start.changed(model=SMALL_RELATIVE, training=LAPTOP_TRAINING)
    start = muon(task, "micro").changed(train=train, test=test, evaluation=MEASURED, **changes)
    return tuning.applied(start).changed(model=SHAPE)


SUMS_TUNING = Tuning(steps=2_000, batch=128, dropout=0.0, evaluate_every=1_000)


def sums(setting: Setting, train: str, test: str, name: str) -> RunConfig:
    """A run on sums with an encoding, or with one layer of position-only attention as in the recipes of long
    operands."""
    if name != POSITION_ONLY:
        return run(setting, SUMS_TUNING, "add", train, test, encoding=name)
    tuning = setting.pick(POSITION_ONLY_TUNING, LAPTOP_TUNING)
    start = position_only("coupled", train, test, tuning, width=128, context=132)
    return start.changed(evaluation=MEASURED)


# Decay and larger position embeddings were tuned for models with absolute positions to ignore unseen digits.
# Residues are learned much sooner if short operands are as frequent as long ones.
TABLE_1_TUNING = Tuning(
    steps=2_500, batch=128, decay=0.3, position_std=1.2, sampling="balanced", evaluate_every=1_250
)
# Products and residues modulo 101 need more steps, and are not learned completely with dropout.
HARDER = replace(TABLE_1_TUNING, dropout=0.0, decay=0.1)
TABLE_1_TUNINGS = {
    "add": TABLE_1_TUNING,
    "mul": replace(HARDER, steps=4_000, evaluate_every=2_000),
    "add%100": TABLE_1_TUNING,
    "add%101": replace(HARDER, steps=6_000, evaluate_every=3_000),
}
ENCODINGS = (
    *("none", "learned", "sinusoidal", *DISTANCE, "abacus", "coupled"),
    *("randomized:fire", "randomized:rotary"),
)
# In base 6, 36 divides a power of the base and 35 does not; products are in base 4.
LAPTOP_TASKS = ("add", "mul", "add%36", "add%35")


def table1_rows(setting: Setting) -> Rows:
    """Every encoding on four tasks under one protocol.

    Each is trained in its usual layout, and encodings of distances also in `padded`, where digits are not at equal
    distances and Theorem 3 does not apply. Products are trained on up to two digits, as much as a small model
    learns in the budget, sums on up to four.
    """
    natural = {name: (name, None) for name in setting.pick(ENCODINGS, ("learned", "rotary", "coupled"))}
    padded = {f"{name}-padded": (name, "padded") for name in setting.pick(DISTANCE, ())}
    return {
        f"table1-{name}-{task}".replace("%", "-mod-").replace(":", "-"): _table1(setting, *positions, task)
        for name, positions in (natural | padded).items()
        for task in setting.pick((*TABLE_1_TUNINGS,), LAPTOP_TASKS)
    }


def _table1(setting: Setting, encoding: str, layout: str | None, task: str) -> RunConfig:
    """A run whose answers are as wide as the longest, a product's, so that runs of one budget train as a stack.

    Not in the layout `aligned`: there an answer digit above the operands would have the answer's own lowest digits
    at the distances at which other digits have the operands'.
    """
    width = setting.pick(8, 4)
    aligned = (layout or encoding_facts(encoding).layout) == "aligned"
    answer_width = width + 1 if aligned and task != "mul" else 2 * width
    changes = {"layout": layout, "data": {"operand_width": width, "answer_width": answer_width}}
    if setting.laptop:
        # Regularized as absolute positions need it to ignore unseen digits: all encodings share one setting.
        return small_tuned(task, "D1..2", "D1..4").changed(encoding=encoding, model=SHAPE, **changes)
    train = "D1..2" if task == "mul" else "D1..4"
    return run(setting, TABLE_1_TUNINGS[task], task, train, "D1..8", encoding=encoding, **changes)


DEMO_SEED = 1
DEMO_ENCODINGS, DEMO_TASKS = ("learned", "coupled"), ("add", "mul", "add%36", "add%35")
DEMO_RELATIVE: dict[str, Any] = {
    "model": {"context": 9, "embedding_std": 0.5, "position_std": 1.5, **SMALL_RELATIVE},
    "training": {"batch": 48, "learning_rate": 1e-3, "weight_decay": 0.1},
}
DEMO_RELATIVE_STEPS = {"add": 900, "add%35": 900, "add%36": 900, "mul": 1_400}


def demo_configs() -> list[RunConfig]:
    """The paper's Table 1 in miniature, for two CPU cores and a minute and a half: one run for each task and
    encoding; the sums of one encoding train as a stack.

    Every model is trained on operands of one and two digits and tested on up to three. Sums are in base 6, where
    36 = 6^2 divides a power of the base and 35 does not, products in base 4. Absolute positions are `learned`,
    relative ones `coupled`.
    """
    return [_demo(task, encoding) for encoding in DEMO_ENCODINGS for task in DEMO_TASKS]


def _demo(task: str, encoding: str) -> RunConfig:
    width = {"operand_width": 3, "answer_width": 6 if task == "mul" else 4}
    start = small_tuned if encoding == "coupled" else small
    config = start(task, "D1..2", "D1..3").changed(
        encoding=encoding, seed=DEMO_SEED, data=width, evaluation={"problems": 5_000, "interim_problems": 300}
    )
    if encoding != "coupled":
        return config
    return config.changed(**DEMO_RELATIVE).changed(training={"steps": DEMO_RELATIVE_STEPS[task]})


def addition_rows(setting: Setting) -> Rows:
    """Sums of exactly n digits, tested on longer operands and by carry chain."""
    encodings, lengths, test = setting.pick((OF_SUMS, (3, 4), "D1..10"), (LAPTOP_RELATIVE, (2, 3), "D1..5"))
    # The paper's window and the rule's, for both lengths, so that rows of one encoding train as a stack.
    windows = tuple(f"windowed:{n}" for n in sorted({w for n in lengths for w in (n, n + 1)}))
    measured = {"chains": True, "hypotheses": windows}
    return {
        f"relative-addition-{name}-D{n}": sums(setting, f"D{n}", test, name).changed(evaluation=measured)
        for name, n in product(encodings, lengths)
    }


def jelassi_rows(setting: Setting) -> Rows:
    """The experiment of Jelassi et al. on encoders, with a decoder: trained on five digits, does it add twenty?"""
    encodings, domains, test = setting.pick(
        (OF_SUMS, ("D5", "D1..5"), "D1..20"), (LAPTOP_RELATIVE, ("D2", "D1..2"), "D1..6")
    )
    return {
        f"jelassi-{name}-{train}": sums(setting, train, test, name) for name, train in product(encodings, domains)
    }


# Names of the orders of writing, and the change of config for each; the usual layout writes the lowest digit
# first.
ORDERS: dict[str, dict[str, Any]] = {"lowest-first": {}, "highest-first": {"layout": "descending"}}


def carry_rows(setting: Setting) -> Rows:
    """Sums of exactly four digits, tested on longer operands and by carry chain. With the lowest digit first, an
    answer digit is replaced to see whether the carry into the next one follows it; with the highest first, no
    carry can be read. On a laptop only position-only attention generalizes to longer sums."""
    encodings, prefix = setting.pick((OF_SUMS, "carry"), ((POSITION_ONLY,), "carry-small"))
    rows: Rows = {}
    for name, (order, change) in product(encodings, ORDERS.items()):
        measured = {"chains": True, "hypotheses": ("windowed:4", "windowed:5")}
        asked = {} if change else {"changed_digits": 4_000}
        start = sums(setting, "D4", "D1..10", name)
        rows[f"{prefix}-{name}-{order}"] = start.changed(**change, evaluation={**measured, **asked})
    return rows


RESIDUES_TUNING = Tuning(steps=3_000, batch=128, decay=0.1, sampling="balanced", evaluate_every=1_500)
# Where all digits matter, and for products, twice the steps are needed, and dropout prevents a model from learning
# them completely.
HARDER_RESIDUES = replace(RESIDUES_TUNING, steps=6_000, dropout=0.0, evaluate_every=3_000)
# The last digits, the first digits, sums of blocks of n digits (with 1 the sum of digits), a sum that loses
# carries.
KINDS = ("truncated", "leading", "folded", "windowed")


def modular_rows(setting: Setting) -> Rows:
    """Residues of longer sums: theory does not say what is learned modulo 101, so candidates are searched.
    Products modulo 100, which divides a power of the base, test Theorem 7 (1)."""
    # The ending of a row's name, and its task.
    sums = setting.pick({"p100": "add%100", "p101": "add%101"}, {"p36": "add%36", "p35": "add%35"})
    products = setting.pick({"mul-p100": "mul%100"}, {"mul-p16": "mul%16"})
    tested = [(setting.pick(RELATIVE, LAPTOP_RELATIVE), sums), (LAPTOP_RELATIVE, products)]
    return {
        f"relative-modular-{encoding}-{ending}": _residues(setting, encoding, task)
        for encodings, tasks in tested
        for encoding in encodings
        for ending, task in tasks.items()
    }


def _residues(setting: Setting, encoding: str, task: str) -> RunConfig:
    """A run whose answers are as wide as the longest, so that only the task and its budget differ."""
    train, test, data, sizes = setting.pick(
        ("D1..4", "D1..8", {"answer_width": 3}, range(1, 7)), ("D1..2", "D1..4", {}, range(1, 4))
    )
    kinds = KINDS if task.startswith("add") else KINDS[:3]
    measured = {"hypotheses": tuple(f"{kind}:{size}" for kind in kinds for size in sizes)}
    tuning = RESIDUES_TUNING if task == "add%100" else HARDER_RESIDUES
    start = run(setting, tuning, task, train, test, encoding=encoding, data=data)
    return start.changed(evaluation=measured)


PRODUCTS_TUNING = Tuning(steps=3_000, batch=128, dropout=0.0, evaluate_every=1_500)
# Names of the ways to answer, and their layouts; the encoding's usual layout has no steps.
WAYS = {"direct": None, "scratchpad": "scratchpad"}


def products_rows(setting: Setting) -> Rows:
    """Products answered directly, and with raw sums and carries written before the answer."""
    encodings, domains, test = setting.pick(
        (RELATIVE, ("D1..2", "D2"), "D1..5"), (LAPTOP_RELATIVE, ("D1..2",), "D1..3")
    )
    return {
        f"relative-multiplication-{encoding}-{way}-{train}": run(
            setting, PRODUCTS_TUNING, "mul", train, test, encoding=encoding, layout=layout
        )
        for encoding, (way, layout), train in product(encodings, WAYS.items(), domains)
    }


def as_table_1_says(run: RunView, family: str) -> Words:
    """Verdicts on Table 1's mark, for the encoding that represents a family, in its usual layout."""
    encoding = TABLE_1_ENCODINGS[family]
    wanted = (run.encoding, run.layout) == (encoding, encoding_facts(encoding).layout)
    return [mark_verdict(run)] if wanted else []


def longer_lengths_right(run: RunView) -> Words:
    return [generalizes(run)]


def seen_chains_right(run: RunView) -> Words:
    return [judge(chains_seen(run), run.converged)]


def longer_chains_wrong(run: RunView) -> Words:
    return [judge(others(chains_unseen(run)), run.converged)]


def failures_are_rare(run: RunView) -> Words:
    """Theorem 3's bound: an error of at most 1 / base^(n-1) on every longer length."""
    allowed = 1 - float(window_bound(run.task.base, run.train.length))
    return [judge(counts, run.converged, allowed) for counts in compared(run, run.spec.longer())]


def has_steps(run: RunView) -> bool:
    return layout_facts(run.layout).with_steps


def step_counts(run: RunView, kind: str) -> Measured | None:
    """Counts of problems one digit longer than in training in which all steps of a kind are right."""
    domain = str(run.spec.longer()[0])
    return next(iter(last(run, lambda r: (r.metric, r.domain) == (f"steps:{kind}", domain))), None)


def steps_right(run: RunView) -> Words:
    """Whether carries and answer digits one digit above training are right, given the right tokens before them."""
    kinds = ("carries", "answer") if has_steps(run) else ()
    return [judge(step_counts(run, kind), run.converged) for kind in kinds]


def written_steps_suffice(run: RunView) -> Words:
    """Whether answers one digit above training are right if sums and carries are written first."""
    return [judge(compared(run, run.spec.longer())[0], run.converged)] if has_steps(run) else []


def raw_sums_wrong(run: RunView) -> Words:
    """Whether raw sums one digit above training are wrong in more than 1 % of problems."""
    return [OPPOSITE[judge(step_counts(run, "sums"), run.converged) or UNDECIDED]] if has_steps(run) else []
