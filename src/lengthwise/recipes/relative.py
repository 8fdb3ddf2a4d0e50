"""Positional encodings: Table 1 and every encoding on its tasks, and what the paper says of relative positions.

These experiments are ours, so they start from Muon and fresh problems whatever preset was asked for.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from lengthwise.experiments.config import RunConfig
from lengthwise.recipes.claims import (
    OPPOSITE,
    Words,
    agreements,
    as_predicted,
    chains_seen,
    chains_unseen,
    each,
    generalizes,
    last,
    mark_verdict,
    modulus_divides,
    others,
)
from lengthwise.recipes.long_operands import POSITION_ONLY_TUNING, position_only
from lengthwise.recipes.presets import Setting, Tuning, muon, small
from lengthwise.recipes.recipe import RELATIVE as SECTION
from lengthwise.recipes.recipe import Claim, Figure, Recipe, Rows, Table
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Measured, judge
from lengthwise.records.view import RunView
from lengthwise.theory.encodings import encoding_facts, layout_facts
from lengthwise.theory.paper import window_bound
from lengthwise.theory.predict import TABLE_1_ENCODINGS

DISTANCE = ("rotary", "alibi", "t5", "shaw", "fire")
"""Encodings that see distances between tokens: digits stand alike in the layout `aligned` alone."""
RELATIVE, LAPTOP_RELATIVE = (*DISTANCE, "abacus", "coupled"), ("rotary", "coupled")
"""The last two number digits by their significance, so that they stand alike in any layout."""
# What theory takes for granted, that attention knows positions alone, made true: sums have such rows too.
POSITION_ONLY = "coupled-by-place"
OF_SUMS = (*RELATIVE, POSITION_ONLY)

SEEDS = 3
# Attention that cannot grow too sharp carries further; nothing needs ignoring, so there is no dropout.
SHAPE: dict[str, Any] = {"normalized_attention": True}
LAPTOP_SHAPE: dict[str, Any] = {"heads": 4, "dropout": 0.0, "normalized_attention": True}
LAPTOP_TRAINING: dict[str, Any] = {"steps": 1_200, "batch": 48, "learning_rate": 1e-3, "weight_decay": 0.1}
# Hundreds of runs that are read by length: digit by digit they would fill tens of megabytes.
MEASURED: dict[str, Any] = {"details": False, "problems": 2_000}


def run(task: str, train: str, test: str, encoding: str, tuning: Tuning, **changes: Any) -> RunConfig:
    """At full scale."""
    start = muon(task, "micro").changed(train=train, test=test, encoding=encoding, evaluation=MEASURED, **changes)
    return tuning.applied(start).changed(model=SHAPE)


def laptop_run(task: str, train: str, test: str, encoding: str, **changes: Any) -> RunConfig:
    start = small(task, train, test).changed(encoding=encoding, **changes)
    return start.changed(model=LAPTOP_SHAPE, training=LAPTOP_TRAINING)


SUMS_TUNING = Tuning(steps=2_000, batch=128, dropout=0.0, evaluate_every=1_000)


def sums(train: str, test: str, name: str) -> RunConfig:
    """With an encoding, or by one layer of position-only attention, as in the recipes of long operands."""
    if name != POSITION_ONLY:
        return run("add", train, test, name, SUMS_TUNING)
    start = position_only("coupled", train, test, POSITION_ONLY_TUNING, width=128, context=132)
    return start.changed(evaluation=MEASURED)


# Decay and positions that outweigh tokens let absolute positions ignore digits they never saw.
# Residues are learned far sooner where short operands are as frequent as long ones.
TABLE_1_TUNING = Tuning(
    steps=2_500, batch=128, decay=0.3, position_std=1.2, sampling="balanced", evaluate_every=1_250
)
# Products and residues modulo 101 take more steps, and are not learned to the end under dropout.
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
LAPTOP_ENCODINGS, LAPTOP_TASKS = ("learned", "rotary", "coupled"), ("add", "mul", "add%36", "add%35")


class Positions(NamedTuple):
    encoding: str
    layout: str | None = None
    """Where it is not the natural one."""


def table1_rows(setting: Setting) -> Rows:
    """Every encoding on four tasks under one protocol.

    Each is trained in its natural layout, and those that see distances in `padded` too, where digits do not stand
    alike and Theorem 3 says nothing. Products are trained on up to two digits, all that a small model learns in
    the budget, sums on up to four.
    """
    natural = map(Positions, LAPTOP_ENCODINGS if setting.laptop else ENCODINGS)
    padded = () if setting.laptop else (Positions(encoding, "padded") for encoding in DISTANCE)
    return {
        f"table1-{'-'.join(filter(None, positions))}-{task}".replace("%", "-mod-").replace(":", "-"): _table1(
            setting, positions, task
        )
        for positions in (*natural, *padded)
        for task in (LAPTOP_TASKS if setting.laptop else TABLE_1_TUNINGS)
    }


def _table1(setting: Setting, positions: Positions, task: str) -> RunConfig:
    width = 4 if setting.laptop else 8
    data = {"operand_width": width, "answer_width": answer_width(positions, task, width)}
    changes = {"layout": positions.layout, "data": data}
    if setting.laptop:
        # Regularized as for absolute positions: what all encodings share has to let those ignore unseen digits.
        return small(task, "D1..2", "D1..4").changed(encoding=positions.encoding, model=SHAPE, **changes)
    train = "D1..2" if task == "mul" else "D1..4"
    return run(task, train, "D1..8", positions.encoding, TABLE_1_TUNINGS[task], **changes)


def answer_width(positions: Positions, task: str, width: int) -> int:
    """Answers as wide as the widest, a product's: those of one budget then train as one program.

    Not so where digits stand aligned. There a digit of a sum that lies further up than operands reach would find
    the answer's own lowest digits at the distances at which all others find the operands'.
    """
    aligned = (positions.layout or encoding_facts(positions.encoding).layout) == "aligned"
    return width + 1 if aligned and task != "mul" else 2 * width


def addition_rows(setting: Setting) -> Rows:
    """Sums of exactly n digits, tested upward and by carry chain."""
    encodings, lengths = (LAPTOP_RELATIVE, (2, 3)) if setting.laptop else (OF_SUMS, (3, 4))
    # The paper's window and the rule's, of either length: rows of one encoding then train as one program.
    windows = tuple(f"windowed:{n}" for n in sorted({w for n in lengths for w in (n, n + 1)}))
    return {
        f"relative-addition-{encoding}-D{n}": (
            laptop_run("add", f"D{n}", "D1..5", encoding) if setting.laptop else sums(f"D{n}", "D1..10", encoding)
        ).changed(evaluation={"chains": True, "hypotheses": windows})
        for encoding in encodings
        for n in lengths
    }


def jelassi_rows(setting: Setting) -> Rows:
    """What Jelassi et al. report of encoders, asked of a decoder: trained on five digits, does it add twenty?"""
    if setting.laptop:
        return {
            f"jelassi-{encoding}-{train}": laptop_run("add", train, "D1..6", encoding)
            for encoding in LAPTOP_RELATIVE
            for train in ("D2", "D1..2")
        }
    return {
        f"jelassi-{name}-{train}": sums(train, "D1..20", name) for name in OF_SUMS for train in ("D5", "D1..5")
    }


RESIDUES_TUNING = Tuning(steps=3_000, batch=128, decay=0.1, sampling="balanced", evaluate_every=1_500)
# Where all digits count, and for products, twice the steps are needed, and dropout keeps a model from learning it
# to the end.
HARDER_RESIDUES = replace(RESIDUES_TUNING, steps=6_000, dropout=0.0, evaluate_every=3_000)
RESIDUES_TUNINGS = {"add%100": RESIDUES_TUNING, "add%101": HARDER_RESIDUES, "mul%100": HARDER_RESIDUES}
# The last digits, the first ones, digits n apart alike (with 1 the sum of digits), a sum that loses carries.
KINDS = ("truncated", "leading", "folded", "windowed")


def modular_rows(setting: Setting) -> Rows:
    """Residues of longer sums: theory does not say what is learned modulo 101, so a search does. Products modulo
    100, which divides a power of the base, are those that Theorem 7 (1) speaks of."""
    sums_of, products_of = (
        (("add%36", "add%35"), "mul%16") if setting.laptop else (("add%100", "add%101"), "mul%100")
    )
    encodings = LAPTOP_RELATIVE if setting.laptop else RELATIVE
    found = {
        f"relative-modular-{encoding}-p{task.partition('%')[2]}": _residues(setting, encoding, task)
        for encoding in encodings
        for task in sums_of
    }
    return found | {
        f"relative-modular-{encoding}-{products_of.replace('%', '-p')}": _residues(setting, encoding, products_of)
        for encoding in LAPTOP_RELATIVE
    }


def _residues(setting: Setting, encoding: str, task: str) -> RunConfig:
    """All tasks with answers as wide as the widest, so that only the task and its budget differ."""
    kinds = KINDS if task.startswith("add") else KINDS[:3]
    sizes = range(1, 4) if setting.laptop else range(1, 7)
    measured = {"hypotheses": tuple(f"{kind}:{size}" for kind in kinds for size in sizes)}
    if setting.laptop:
        return laptop_run(task, "D1..2", "D1..4", encoding).changed(evaluation=measured)
    width = {"answer_width": 3}
    return run(task, "D1..4", "D1..8", encoding, RESIDUES_TUNINGS[task], data=width).changed(evaluation=measured)


PRODUCTS_TUNING = Tuning(steps=3_000, batch=128, dropout=0.0, evaluate_every=1_500)
# What a way to answer is called, and its layout; the encoding's natural one has no steps.
WAYS = {"direct": None, "scratchpad": "scratchpad"}


def products_rows(setting: Setting) -> Rows:
    """Answered at once, and with the raw sums and carries written out."""
    encodings, domains = (LAPTOP_RELATIVE, ("D1..2",)) if setting.laptop else (RELATIVE, ("D1..2", "D2"))
    return {
        f"relative-multiplication-{encoding}-{way}-{train}": (
            laptop_run("mul", train, "D1..3", encoding, layout=layout)
            if setting.laptop
            else run("mul", train, "D1..5", encoding, PRODUCTS_TUNING, layout=layout)
        )
        for encoding in encodings
        for way, layout in WAYS.items()
        for train in domains
    }


def _mark(family: str) -> Claim:
    def words(run: RunView) -> Words:
        encoding = TABLE_1_ENCODINGS[family]
        natural = encoding_facts(encoding).layout
        return [mark_verdict(run)] if (run.encoding, run.layout) == (encoding, natural) else []

    return Claim(
        f"Table 1, {family}",
        "Trained models generalize to longer operands where it says, and only there",
        each(words),
    )


def failures_are_rare(run: RunView) -> Words:
    """Theorem 3's own bound: wrong at most once in base^(n-1), on every longer length."""
    allowed = 1 - float(window_bound(run.task.base, run.train.length))
    return [_above(counts, allowed) if run.converged else UNDECIDED for counts in agreements(run)]


def _above(counts: Measured, allowed: float) -> str:
    low, high = counts.interval
    return HOLDS if low >= allowed else FAILS if high < allowed else UNDECIDED


def has_steps(run: RunView) -> bool:
    return layout_facts(run.layout).with_steps


def step_counts(run: RunView, kind: str) -> Measured | None:
    """Problems one length above training whose every step of a kind is right."""
    domain = str(run.spec.longer()[0])
    return next(iter(last(run, lambda r: (r.metric, r.domain) == (f"steps:{kind}", domain))), None)


def steps_right(run: RunView) -> Words:
    """Given all before them, carries and answer digits one length above training."""
    kinds = ("carries", "answer") if has_steps(run) else ()
    return [judge(step_counts(run, kind), run.converged) for kind in kinds]


def written_steps_suffice(run: RunView) -> Words:
    """Whole answers one length above training, where sums and carries are written before them."""
    return [judge(agreements(run)[0], run.converged)] if has_steps(run) else []


def raw_sums_wrong(run: RunView) -> Words:
    """Raw sums one length above training, more often than one in a hundred."""
    return [OPPOSITE[judge(step_counts(run, "sums"), run.converged) or UNDECIDED]] if has_steps(run) else []


TABLE1 = Recipe(
    name="table1",
    purpose="the paper's Table 1, and every encoding on its four tasks: the leaderboard",
    rows=table1_rows,
    seeds=SEEDS,
    section=SECTION,
    title="Table 1 and the leaderboard of encodings",
    words=(
        "Every encoding learned four tasks under one protocol, each in its natural layout, and those that see "
        "distances in `padded` too, where the premise of Theorem 3 fails. Percent of right answers on the "
        "training domain / on average over all longer lengths: the mean over seeds, in brackets the lowest and "
        "highest. Theory is Table 1's mark, whether a model generalizes to longer operands, and in how many seeds "
        "the mark holds. A model generalizes if it is right on 99 % of every longer length; that it does not is "
        "decided by agreement with the function that theory predicts instead, where it predicts one."
    ),
    tables=(
        Table("table1", "leaderboard.table_1_by_length"),
        Table("leaderboard", "leaderboard.board_table", "leaderboard.data_table"),
    ),
    figures=(
        Figure(
            name="leaderboard",
            title="Every encoding on every task",
            caption=(
                "A line for each positional encoding, the best on longer operands first: left, the share of right "
                "answers on what it was trained on, right, on all longer lengths together. ✓ and ✗ are what "
                "theory says, whether it generalizes to longer operands, and a frame marks where no seed agrees "
                "and some contradict it."
            ),
            alt="Two heat maps of encodings by tasks: right answers within training and on longer operands.",
            drawn_by="leaderboard.encodings_by_task",
            rows=table1_rows,
        ),
    ),
    claims=(_mark("absolute"), _mark("relative")),
)
RELATIVE_ADDITION = Recipe(
    name="relative-addition",
    purpose="sums of n digits with relative positions, upward, by length and by longest carry chain",
    rows=addition_rows,
    seeds=SEEDS,
    section=SECTION,
    title="Sums upward with relative positions",
    words=(
        "Trained on sums of exactly n digits; does a model fail where theory says, on carry chains longer than it "
        "ever saw, and only there? Numbers are percent over all longer lengths, chains drawn so that every length "
        "of chain occurs alike; the verdict on Theorem 3 is agreement with windowed:n+1 on every length."
    ),
    tables=(Table("relative-addition", "recipe_tables.sums_upward"),),
    figures=(
        Figure(
            name="relative-addition",
            title="Sums upward with relative positions",
            caption=(
                "A panel for each encoding, trained on sums of exactly three or four digits: blue are right "
                "answers, orange and green answers equal to those of a model that sees n or n + 1 columns at a "
                "time, each with a band over seeds. Theory says that green stays at 100 and blue follows the grey "
                "dashes; the paper's bound is dotted."
            ),
            alt="Panels of right answers, and of agreement with two windows, against operand length, by encoding.",
            drawn_by="relative.sums_by_length",
            rows=addition_rows,
        ),
        Figure(
            name="relative-addition-chains",
            title="Where sums fail: carry chains",
            caption=(
                "Longer sums sorted by how far a carry travels in them: theory says that chains as long as those "
                "in training are right and longer ones wrong, a cliff right after n (grey dashes; for the paper's "
                "window one earlier, dotted). A blue line that falls before the cliff fails elsewhere, and one "
                "that does not fall has learned to hand carries on."
            ),
            alt="Panels of right answers against the longest carry chain, measured over a predicted cliff.",
            drawn_by="relative.sums_by_chain",
            rows=addition_rows,
        ),
    ),
    theorems=(
        Claim(
            "Theorem 3",
            "Addition, relative positions: it generalizes to longer operands, but for long carry chains",
            each(as_predicted),
        ),
    ),
    claims=(
        Claim("Theorem 3, bound", "Longer sums go wrong at most once in 10^(n-1)", each(failures_are_rare)),
        Claim(
            "Theorem 3, seen chains",
            "Longer sums whose carries travel no further than in training are right",
            each(lambda run: [judge(chains_seen(run), run.converged)]),
        ),
        Claim(
            "Theorem 3, longer chains",
            "Sums whose carries travel further than in training are wrong",
            each(lambda run: [judge(others(chains_unseen(run)), run.converged)]),
        ),
    ),
)
JELASSI = Recipe(
    name="jelassi-5-20",
    purpose="trained on five digits, tested to twenty, relative positions",
    rows=jelassi_rows,
    seeds=SEEDS,
    section=SECTION,
    title="From five digits to twenty",
    words=(
        "Jelassi and others report that encoders with relative positions add twenty digits after training on "
        "five; here decoders are asked. Percent of right answers, by length; a seed generalizes if it is right on "
        "99 % of every longer one."
    ),
    tables=(Table("jelassi-5-20", "recipe_tables.five_to_twenty"),),
    figures=(
        Figure(
            name="jelassi-5-20",
            title="From five digits to twenty",
            caption=(
                "Right sums by length for each encoding, trained on sums of one length alone and on all lengths "
                "up to it, each with a band over seeds. Jelassi and others report that encoders with relative "
                "positions go from five to twenty digits; here the same is asked of a decoder."
            ),
            alt="Panels of right answers by operand length up to twenty digits, by encoding and training set.",
            drawn_by="relative.five_to_twenty",
            rows=jelassi_rows,
        ),
    ),
    claims=(
        Claim(
            "Jelassi and others",
            "Relative positions: trained on five digits, twenty are added",
            each(lambda run: [generalizes(run)]),
        ),
    ),
)
MODULAR_RELATIVE = Recipe(
    name="modular-relative",
    purpose="residues of longer sums with relative positions: which of many functions is learned?",
    rows=modular_rows,
    seeds=SEEDS,
    section=SECTION,
    title="Residues with relative positions",
    words=(
        "Theory says whether a model generalizes to longer operands, and not what it computes if it does not, so "
        "its answers are held against truth, the last and the first digits, folded digits and windows of many "
        "sizes. The best candidate fits a seed that has learned and agrees with it on 99 % of every longer length."
    ),
    tables=(Table("modular-relative", "recipe_tables.which_function"),),
    figures=(
        Figure(
            name="modular-relative",
            title="Which function do residues follow?",
            caption=(
                "For each encoding (across) how often its answers on longer operands are those of a candidate "
                "(down): truth, the last digits alone (truncated), the first alone (leading), digits some columns "
                "apart taken for alike (folded), sums that lose carries (windowed). A dark cell names the "
                "function that was learned, and a column without one was none of them."
            ),
            alt="Heat maps of agreement with candidate functions by encoding, one for each modulus.",
            drawn_by="candidates.candidate_grid",
            rows=modular_rows,
        ),
    ),
    theorems=(
        Claim(
            "Theorem 4, relative",
            "The same with relative positions",
            each(lambda run: as_predicted(run) if modulus_divides(run) and run.task.operation == "add" else []),
        ),
        Claim(
            "Theorem 7 (1), relative",
            "The same with relative positions",
            each(lambda run: as_predicted(run) if modulus_divides(run) and run.task.operation == "mul" else []),
        ),
    ),
)
MULTIPLICATION_RELATIVE = Recipe(
    name="multiplication-relative",
    purpose="longer products with relative positions, with and without raw sums and carries written out",
    rows=products_rows,
    seeds=SEEDS,
    section=SECTION,
    title="Longer products, with and without their steps",
    words=(
        "The paper argues that carries and digits are alike at every position once the raw sum of a column is "
        "known, and that raw sums are the difficulty. The last columns count problems whose every raw sum, carry "
        "or answer digit is right given all that truly stands before it, one length above training."
    ),
    tables=(Table("multiplication-relative", "recipe_tables.longer_products"),),
    figures=(
        Figure(
            name="multiplication-relative",
            title="Longer products, with and without their steps",
            caption=(
                "Right products by length for each encoding: blue answers at once, orange writes the sum and "
                "carry of every column first. If writing them removed the difficulty, orange would stay high "
                "where blue falls."
            ),
            alt="Panels of right products against operand length, answered at once and with steps, by encoding.",
            drawn_by="relative.products_by_length",
            rows=products_rows,
        ),
    ),
    claims=(
        Claim(
            "multiplication, steps",
            "Given raw sums, carries and digits of longer products are right",
            each(steps_right),
        ),
        Claim(
            "multiplication, scratchpad",
            "Longer products are right where raw sums and carries are written first",
            each(written_steps_suffice),
        ),
        Claim("multiplication, raw sums", "The raw sums of longer products go wrong", each(raw_sums_wrong)),
    ),
)
