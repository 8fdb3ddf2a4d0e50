"""Models watched closely while they learn, and models of several sizes on samples of several sizes."""

from collections.abc import Sequence
from typing import Any

from lengthwise.experiments.config import RunConfig
from lengthwise.recipes import paper
from lengthwise.recipes.claims import Words, each
from lengthwise.recipes.presets import Setting, Tuning, full_scale, small
from lengthwise.recipes.recipe import Claim, Figure, Recipe, Rows, RowsOf
from lengthwise.records.learning_order import learned_at, learning_order
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView

# Learning is over after some 300 steps, so looks are frequent and the run is short.
WATCHED_TUNING = Tuning(steps=800, evaluate_every=10)
WATCHED_TRAIN, LAPTOP_WATCHED_TRAIN = ("D4", "D5", "D4+D5"), ("D2", "D3", "D2+D3")
WATCHED: dict[str, Any] = {"digits": True, "dynamics": True, "interim_problems": 500}

SCALES_TUNING = Tuning(steps=2_000, evaluate_every=100)
SIZES, LAPTOP_WIDTHS = ("nano", "micro", "mini"), {"width32": 32, "width64": 64}
SAMPLES, LAPTOP_SAMPLES = {"100k": 100_000, "200k": 200_000}, {"300": 300, "1k": 1_000}
SCALES_TRAIN, LAPTOP_SCALES_TRAIN = ("D4", "D5", "D6", "D7", "D4+D5", "D5+D6", "D6+D7"), ("D2", "D1+D2")
SCALES_TEST = "D9"  # the figure shows training domains; one length beyond tells whether the rest is ignored


def watched_rows(setting: Setting) -> Rows:
    """Tested on each length, and on one sample of all lengths together, the paper's D<=9."""
    if setting.laptop:
        small_one = {"base": 4, "training": {"evaluate_every": 250}}
        found = {t: small("add", t, each_and_all(4)).changed(**small_one) for t in LAPTOP_WATCHED_TRAIN}
    else:
        found = {t: full_scale(setting, "add", t, each_and_all(9), WATCHED_TUNING) for t in WATCHED_TRAIN}
    return {f"dynamics-{train}": run.changed(evaluation=WATCHED) for train, run in found.items()}


def each_and_all(longest: int) -> str:
    """
    >>> each_and_all(3)
    'D1..3,D1+D2+D3'
    """
    return f"D1..{longest}," + "+".join(f"D{n}" for n in range(1, longest + 1))


def all_digits_rows(setting: Setting) -> Rows:
    tables = paper.table_rows(setting).items()
    sums = paper.addition_rows(setting)
    return {**watched_rows(setting), **{name: config for name, config in tables if name not in sums}}


def scales_rows(setting: Setting) -> Rows:
    sizes, samples, domains = (
        (LAPTOP_WIDTHS, LAPTOP_SAMPLES, LAPTOP_SCALES_TRAIN) if setting.laptop else (SIZES, SAMPLES, SCALES_TRAIN)
    )
    return {
        f"scales-{size}-{count}-{train}": _scaled(setting, size, train).changed(data={"samples": samples[count]})
        for size in sizes
        for count in samples
        for train in domains
    }


def _scaled(setting: Setting, size: str, train: str) -> RunConfig:
    if not setting.laptop:
        return full_scale(setting, "add", train, SCALES_TEST, SCALES_TUNING, size=size)
    run = small("add", train).changed(model={"width": LAPTOP_WIDTHS[size]})
    return run.changed(training={"steps": 1_000, "evaluate_every": 100})


def mixture_is_easier(runs: Sequence[RunView]) -> list[tuple[RunView, Words]]:
    """D4+D5 reaches 99 % on its own domain in fewer steps than D5, all else equal."""
    alone = {run.name: run for run in runs if str(run.train) == "D5"}
    pairs = [(run, alone.get(run.name.replace("-D4+D5-", "-D5-"))) for run in runs if str(run.train) == "D4+D5"]
    return [(run, [_sooner(learned_step(run), learned_step(other))]) for run, other in pairs if other is not None]


def _sooner(one: int | None, other: int | None) -> str:
    if one == other:
        return UNDECIDED
    return HOLDS if one is not None and (other is None or one < other) else FAILS


def learned_step(run: RunView) -> int | None:
    """The first step from which a run stays at 99 % or more on its training domain."""
    history = run.history("exact", run.train, TRUTH)
    return learned_at({step: (record.correct or 0) / record.total for step, record in history.items()})


ACCURACY_BY_DOMAIN = Recipe(
    name="accuracy-by-domain",
    purpose="accuracy on D1 to D9 through training, for D4, D5, D4+D5",
    rows=watched_rows,
    figures=(
        Figure(
            name="accuracy-by-domain",
            title="Accuracy on every length while training",
            caption=(
                "Above, the share of right sums on each length as training goes on: theory says that lengths up "
                "to the trained one reach 100 % and longer ones (dashed) stay near 0. Below, the share of answers "
                "equal to those of a model that sees the trained digits alone: if theory is right every length "
                "reaches 100 % there, and long sums are not random but wrong in exactly the foretold way."
            ),
            alt="Six panels through training on D4, D5 and D4+D5: accuracy above, agreement with theory below.",
            drawn_by="through_training.accuracy_by_domain",
            rows=watched_rows,
        ),
    ),
)


def _digits_while_learning(family: str, rows: RowsOf) -> Figure:
    words = family.replace("-", " ")
    return Figure(
        name=f"digit-accuracy-{family}",
        title=f"Digits while learning {words}",
        caption=(
            "A panel for each trained model: coloured lines are the share of problems with that one digit right, "
            "the dashed black line the share with the whole answer right, on problems like those trained on. The "
            "whole answer waits for the slowest digit, so a single line that stays low holds everything back."
        ),
        alt=f"Small panels of digit accuracy against training step for {words}, with the whole answer dashed.",
        drawn_by="through_training.own_digit_accuracy",
        rows=rows,
    )


DIGIT_ACCURACY = Recipe(
    name="digit-accuracy",
    purpose="digit-wise accuracy through training, for all four tasks",
    rows=all_digits_rows,
    figures=(
        Figure(
            name="digit-accuracy",
            title="Every digit of a sum while training",
            caption=(
                "A panel for each digit of the answer, from the units (digit 1) up, measured on sums of one to "
                "nine digits together. The dotted line is where theory says a curve ends: 100 % for digits that "
                "training showed, and above them how often a model that ignores unseen digits is right by luck."
            ),
            alt="Nine panels, one for each answer digit: accuracy against training step for three training sets.",
            drawn_by="through_training.digit_accuracy",
            rows=watched_rows,
        ),
        _digits_while_learning("modular-addition", paper.modular_addition_rows),
        _digits_while_learning("multiplication", paper.multiplication_rows),
        _digits_while_learning("modular-multiplication", paper.modular_multiplication_rows),
        Figure(
            name="plateaus",
            title="Where modular products stand still",
            caption=(
                "A panel for each modulus whose training stood still: dots are the share of right answers on the "
                "training domain, one line a seed, on a logarithmic axis; pale lines are the exact accuracies of "
                "models that know only part of an answer and guess the rest at best. Dotted is the one nearest to "
                "a standstill, orange if the curve stands there within its error: such a model knows nothing yet, "
                "or all but one factor of the modulus, or all but the operands' top digits."
            ),
            alt="Small panels of accuracy against training step, logarithmic, with predicted heights as lines.",
            drawn_by="plateaus.accuracy_plateaus",
            rows=paper.modular_multiplication_rows,
        ),
    ),
)
DIGIT_DYNAMICS = Recipe(
    name="digit-dynamics",
    purpose="which digits are learned when: R2, correlation, learning order",
    rows=watched_rows,
    figures=(
        Figure(
            name="digit-dynamics",
            title="How well two features explain each digit",
            caption=(
                "For each digit, how much of what the model writes there is explained by its own column of digits "
                "and by whether the column below alone makes a carry: 1 is all, 0 nothing. A perfect adder "
                "reaches the dotted line and not 1, because a carry can come from further down; a line that stops "
                "there has learned its digit."
            ),
            alt="Three panels of R squared against training step, a line for each digit, dotted ceilings near 1.",
            drawn_by="dynamics.digit_dynamics",
            rows=watched_rows,
        ),
        Figure(
            name="digit-correlation",
            title="Are digits learned together?",
            caption=(
                "Blue: how the curve of one digit in the figure before goes up and down with the curve of the top "
                "trained digit, from -1 (opposite) over 0 (unrelated) to 1 (together). Two curves that both rise "
                "are correlated whatever the reason, so orange compares their changes from one checkpoint to the "
                "next: near 0, learning one digit tells little about the other."
            ),
            alt="Panels of correlations between digits from -1 to 1, blue for values and orange for changes.",
            drawn_by="dynamics.digit_correlation",
            rows=watched_rows,
        ),
        Figure(
            name="learning-order",
            title="Which digit is learned first?",
            caption=(
                "A dot is the training step from which a digit of the answer is right 99 % of the time for good; "
                "a bar spans the seeds. Grey marks the positions that are hardest in theory: if they came last, "
                "dots would rise into the grey, and if they came first, fall."
            ),
            alt="Three panels of the step at which each digit is learned, with the top positions shaded grey.",
            drawn_by="dynamics.learning_steps",
            rows=watched_rows,
        ),
    ),
    claims=(
        Claim(
            "remark on Theorem 1",
            "Positions n and n + 1 are the last to be learned",
            each(lambda run: [learning_order(run.records, run.train).top_last]),
        ),
        Claim(
            "appendix",
            "Positions n and n + 1 are the first to be learned",
            each(lambda run: [learning_order(run.records, run.train).top_first]),
        ),
    ),
)
SCALES = Recipe(
    name="scales",
    purpose="nano, micro, mini on 100k and 200k samples: is D4+D5 easier than D5?",
    rows=scales_rows,
    figures=(
        Figure(
            name="scales",
            title="Model size and number of samples",
            caption=(
                "For each training set the training loss (above) and the share of right answers on unseen "
                "problems of the same kind (below), by model size (colour) and number of training problems (line "
                "style). A curve further to the left learns faster: compare D5 with D4+D5 to see which of them is "
                "easier."
            ),
            alt="Pairs of panels of loss and accuracy against training step, by training set, size and samples.",
            drawn_by="settings.scales",
            rows=scales_rows,
        ),
    ),
    claims=(
        Claim(
            "remark on Theorem 1",
            "Learning on D4+D5 is easier than on D5: fewer steps to 99 %",
            mixture_is_easier,
        ),
    ),
)
