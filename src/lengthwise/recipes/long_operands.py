"""Operands many times longer than trained: sums by coupled and abacus positions, by every encoding, and products.

All are small decoders that attend alike however many keys there are, and start from Muon and fresh problems: they
are no rows of the paper, so that its preset has no say here.
"""

from dataclasses import replace
from typing import Any

from lengthwise.experiments.config import RunConfig
from lengthwise.recipes.presets import Setting, Tuning, muon
from lengthwise.recipes.recipe import FAR, Figure, Recipe, Rows, RowsOf, Table

# Sums column by column: one layer of position-only attention, all positions alike. Then nothing in a long number
# is unlike what training showed but the count of keys. Two heads would do; each starts out on a column near by.
POSITION_ONLY: dict[str, Any] = {"layers": 1, "heads": 4, "place_attention": True, "position_waves": True}
# For it embeddings and head, which AdamW trains, take a high rate.
POSITION_ONLY_TUNING = Tuning(steps=4_000, batch=64, dropout=0.0, rate=1e-2, evaluate_every=1_000)
LAPTOP_TUNING = Tuning(steps=600, batch=8, dropout=0.0, rate=1e-2, evaluate_every=200)
# Tokens of a row that several problems share. Position-only attention then meets columns at all distances, as in a
# long number, and learns to tell that a column is not there. The more columns a head meets that it must not take
# for its own, the sharper it grows, and the further it then generalizes.
ROW = 288
# Queries and keys of one length, and queries scaled by the logarithm of how many keys they see.
ATTENTION: dict[str, Any] = {"normalized_attention": True, "log_length_scale": True}
MEASURED: dict[str, Any] = {"problems": 1_000, "interim_problems": 100}
SETS = ("lopsided", "carry", "alternating")
SEEDS, FIRST_SEED = 3, 61
"""The claim is about every seed, so that one is not enough; lower ones were looked at while this was tuned."""


def long_run(
    task: str,
    encoding: str,
    train: str,
    test: str,
    tuning: Tuning,
    *,
    layout: str = "reversed",
    row: int | None = None,
    **model: Any,
) -> RunConfig:
    """All pairs of operand lengths alike, each problem by itself or several in a row of `row` tokens."""
    packing = "concatenated" if row else "lines"
    start = muon(task, "nano").changed(encoding=encoding, layout=layout, train=train, test=test)
    return tuning.applied(start).changed(
        model={**ATTENTION, **model},
        data={"sampling": "balanced", "packing": packing, "row_tokens": row},
        evaluation=MEASURED,
    )


def position_only(
    encoding: str, train: str, test: str, tuning: Tuning, *, width: int, context: int, row: int = ROW
) -> RunConfig:
    """Sums by attention that knows positions alone, in rows of `row` tokens.

    Operands are as wide as the longer one, as position coupling was published, so that a column has digits of
    both or of neither. `context` has room for the longest answer, and is one more than a prime: positions then
    run in a circle that no wave repeats on.
    """
    shape = {**POSITION_ONLY, "width": width, "context": context}
    return long_run("add", encoding, train, test, tuning, layout="level", row=row, **shape)


def _coupled(setting: Setting, train: str, test: str, context: int) -> RunConfig:
    if setting.laptop:
        return position_only("coupled", "D1..6", "D6,D12,D24,D60,D120", LAPTOP_TUNING, width=128, context=132)
    return position_only("coupled", train, test, POSITION_ONLY_TUNING, width=256, context=context)


def coupled_1000_rows(setting: Setting) -> Rows:
    """Real decoding of some problems stands beside one pass over all."""
    run = _coupled(setting, "D1..20", "D20,D50,D100,D200,D500,D1000", context=1_032)
    return {"coupled-1000": run.changed(evaluation={"sets": SETS, "decoded": 100, "anatomy": 200})}


def coupled_200_rows(setting: Setting) -> Rows:
    """Position coupling's own setting: 1 to 30 digits in training, up to 200 in testing."""
    run = _coupled(setting, "D1..30", "D30,D50,D100,D150,D200", context=402)
    return {"coupled-200": run.changed(evaluation={"sets": SETS})}


ABACUS_PRODUCTS = Tuning(steps=20_000, batch=128, dropout=0.0, evaluate_every=4_000)
# McLeish's best models apply a block of layers several times, the input added anew each time. Waves learn faster
# here than a table of positions.
LOOPED: dict[str, Any] = {
    "layers": 4,
    "loops": 4,
    "heads": 8,
    "width": 256,
    "position_waves": True,
    "context": 200,
}


def abacus_rows(setting: Setting) -> Rows:
    """McLeish's settings: sums of up to 100 digits from 20, products of up to 25 from 15."""
    if setting.laptop:
        # Many short rows: one problem of each teaches `=` where numbers begin.
        shape = {"width": 128, "context": 132, "row": 60}
        run = position_only("abacus", "D1..8", "D8,D10,D15,D20", replace(LAPTOP_TUNING, batch=36), **shape)
        return {"abacus-100-add": run.changed(evaluation={"pairs": 20})}
    tests = "D20,D40,D60,D80,D100"
    sums = position_only("abacus", "D1..20", tests, POSITION_ONLY_TUNING, width=256, context=402)
    products = long_run("mul", "abacus", "D1..15", "D15,D20,D25", ABACUS_PRODUCTS, **LOOPED)
    runs = {"abacus-100-add": sums, "abacus-100-mul": products}
    return {name: run.changed(evaluation={"pairs": 100}) for name, run in runs.items()}


ENCODINGS_TUNING = Tuning(steps=8_000, batch=384, dropout=0.0, decay=0.1, evaluate_every=2_000)
LAPTOP_ENCODINGS_TUNING = Tuning(steps=1_500, batch=64, dropout=0.0, decay=0.1, evaluate_every=500)
# With two layers of two heads t5 does not learn sums of 20 digits.
ENCODINGS_SHAPE: dict[str, Any] = {"layers": 4, "heads": 8, "width": 256}
LAPTOP_ENCODINGS_SHAPE: dict[str, Any] = {"layers": 2, "heads": 4, "width": 64}
# What a row is called, and its encoding.
ENCODINGS = {
    "coupled": "coupled",
    "abacus": "abacus",
    "fire-randomized": "randomized:fire",
    "t5": "t5",
    "rotary": "rotary",
    "alibi": "alibi",
    "none": "none",
}
WITH_TABLE = ("coupled", "abacus")


def encodings_rows(setting: Setting) -> Rows:
    """Every encoding under one protocol: sums of up to 20 digits in training, up to 100 in testing.

    All have the layout `reversed`, without padding, as McLeish has it. The natural layout of relative encodings,
    `aligned`, pads every training problem to the longest one tested: at 100 digits five times the tokens, and a
    training without short sequences. Position tables are learned here, as published. Every problem has a row of
    its own, as evaluation has it: most encodings number tokens from a row's first one.
    """
    if setting.laptop:
        runs = {
            name: long_run(
                "add", encoding, "D1..6", "D6..10,D20", LAPTOP_ENCODINGS_TUNING, **LAPTOP_ENCODINGS_SHAPE
            )
            for name, encoding in ENCODINGS.items()
        }
    else:
        runs = {
            name: long_run("add", encoding, "D1..20", "D20,D30,D40,D50,D100", ENCODINGS_TUNING, **ENCODINGS_SHAPE)
            for name, encoding in ENCODINGS.items()
        }
    tables = {"context": 100 if setting.laptop else 400}
    return {
        f"long-encodings-{name}": run.changed(
            model=tables if run.encoding in WITH_TABLE else {}, evaluation={"sets": SETS, "anatomy": 200}
        )
        for name, run in runs.items()
    }


UPWARD_TUNING = Tuning(steps=6_000, batch=64, dropout=0.0, rate=3e-3, evaluate_every=2_000)
LAPTOP_UPWARD_TUNING = Tuning(steps=800, batch=16, dropout=0.0, rate=5e-3, evaluate_every=400)
UPWARD_HEADS: dict[str, Any] = {"heads": 8, "token_heads": 4, "place_attention": True, "position_waves": True}


def upward_rows(setting: Setting) -> Rows:
    """Products of N x 2 digits: some heads attend by position alone, to columns of the long number, and some by
    content, to the short number, which stands at no fixed distance."""
    if setting.laptop:
        shape = {"layers": 2, "width": 128, "context": 132, "row": 144, **UPWARD_HEADS}
        run = long_run("mul", "coupled", "1..6x2", "6x2,12x2,24x2,40x2", LAPTOP_UPWARD_TUNING, **shape)
        run = run.changed(base=3)
    else:
        shape = {"layers": 3, "width": 256, "context": 1_032, "row": ROW, **UPWARD_HEADS}
        tests = "40x2,60x2,80x2,100x2,200x2,500x2,1000x2"
        run = long_run("mul", "coupled", "1..40x2", tests, UPWARD_TUNING, **shape)
    return {"upward-multiplication": run.changed(evaluation={"decoded": 100})}


TABLE_WORDS = (
    "Percent of right answers, by digits of the longer operand. Random operands are scored in one pass, or "
    "decoded token by token where it says so; the other problems are special sets."
)


def _recipe(name: str, purpose: str, rows: RowsOf, figures: tuple[Figure, ...], **seeds: int) -> Recipe:
    return Recipe(
        name=name,
        purpose=purpose,
        rows=rows,
        section=FAR,
        title=f"`{name}`: {purpose}",
        words=TABLE_WORDS,
        tables=(Table(name, "recipe_tables.by_length"),),
        figures=figures,
        **seeds,
    )


def _accuracy(name: str, words: str, rows: RowsOf) -> Figure:
    return Figure(
        name=name,
        title=f"Sums far beyond training: {words}",
        caption=(
            "The share of right sums by length, on a logarithmic axis, of random operands and of special ones "
            "(one short operand, a carry through the whole number, carries at every other digit): grey marks the "
            "lengths trained on, a band reaches from the worst seed to the best, and where lines of one panel "
            "coincide the thinner lies on the wider. A line that stays at 100 % to the right of the grey has "
            "learned to add, and not only to add the lengths that it saw."
        ),
        alt=f"Accuracy against operand length on a logarithmic axis, {words}, with the trained lengths shaded.",
        drawn_by="far.accuracy_far",
        rows=rows,
    )


def _anatomy(name: str, words: str, rows: RowsOf) -> tuple[Figure, ...]:
    """What goes on inside: where sums first go wrong, how narrowly they are right, where attention goes."""
    return (
        Figure(
            name=f"first-wrong-{name}",
            title=f"Where a long sum first goes wrong: {words}",
            caption=(
                "Of the wrong answers of each length, the share whose first wrong digit lies in each tenth of the "
                "answer, the units first; at the end, those that have all digits right and do not stop there. A "
                "flat line says that every digit is equally likely to fail, a peak that one place is special: the "
                "first digits beyond the trained length, or the end."
            ),
            alt="Lines, one for each length, of wrong answers by the tenth that has the first wrong digit.",
            drawn_by="anatomy.first_wrong",
            rows=rows,
        ),
        Figure(
            name=f"margin-{name}",
            title=f"How narrowly right: {words}",
            caption=(
                "An answer is as safe as its weakest digit: the figure shows by how much the right digit there "
                "beats the best other one (in logits), on average over answers (blue) and in the worst tenth of "
                "them (orange). Where a line falls below the dotted zero, answers are wrong: a slow fall with "
                "length means that more digits bring more chances to fail, a sudden one that something breaks at "
                "that length."
            ),
            alt="Smallest margin of an answer by operand length: the mean, the lowest tenth, and a line at zero.",
            drawn_by="anatomy.margin_by_length",
            rows=rows,
        ),
        Figure(
            name=f"attention-{name}",
            title=f"Does attention stay sharp: {words}",
            caption=(
                "Each panel is one run, or one layer of it in which some head's solid line starts at 20 % or more "
                "(where none does, the layer that comes closest), and each colour one of its heads, up to four, "
                "ranked by the solid line at the shortest length because the number of a head means nothing "
                "across seeds: when an answer digit is written, the solid line is how much of a head's attention "
                "lies on the operand digits of that column and of the one below, the dashed one its largest "
                "weight on any one token. A head whose lines stay level to the right of the grey finds its digits "
                "in long numbers as it did among twenty, and one whose lines fall loses them: a head that reads "
                "one operand digit alone has 100 % twice, one that reads two 100 % and 50 %, one that reads the "
                "answer's digit of the column below as well, which is not counted, 67 % and 33 % (with "
                "position-only attention, whose softmax is clipped, 90 % and 45 %, 53 % and 27 % for the last "
                "two), and one at 0 % looks elsewhere."
            ),
            alt=(
                "Share of attention on needed digits and largest weight against operand length: a panel for each "
                "run or layer, a colour for each head."
            ),
            drawn_by="anatomy.attention_by_length",
            rows=rows,
        ),
    )


TO_1000, TO_200, TO_100 = (
    "from 20 digits to 1,000",
    "from 30 digits to 200",
    "every encoding, from 20 digits to 100",
)

COUPLED_1000 = _recipe(
    "coupled-1000",
    "sums of 1,000 digits after training on up to 20, three seeds",
    coupled_1000_rows,
    (
        _accuracy("coupled-1000", TO_1000, coupled_1000_rows),
        *_anatomy("coupled-1000", TO_1000, coupled_1000_rows),
    ),
    seeds=SEEDS,
    first_seed=FIRST_SEED,
)
COUPLED_200 = _recipe(
    "coupled-200",
    "position coupling's setting: from up to 30 digits to 200",
    coupled_200_rows,
    (_accuracy("coupled-200", TO_200, coupled_200_rows),),
    first_seed=FIRST_SEED,
)
ABACUS_100 = _recipe(
    "abacus-100",
    "every pair of lengths up to 100 after training on up to 20; products, 15 to 25",
    abacus_rows,
    (
        Figure(
            name="abacus-100",
            title="Right answers by the lengths of both operands",
            caption=(
                "The share of right answers by the lengths of both operands: dark is all, white none, and the "
                "orange square holds the pairs of lengths trained on. What is dark outside the square was never "
                "shown in training, and a pale upper right corner would say that one operand may be long but not "
                "both."
            ),
            alt="Heat maps of accuracy by the lengths of both operands, the trained square outlined.",
            drawn_by="far.pair_map",
            rows=abacus_rows,
        ),
    ),
)
LONG_ENCODINGS = _recipe(
    "long-encodings",
    "seven encodings under one protocol, trained on up to 20 digits",
    encodings_rows,
    (_accuracy("long-encodings", TO_100, encodings_rows), *_anatomy("long-encodings", TO_100, encodings_rows)),
)
MULTIPLICATION_UPWARD = _recipe(
    "multiplication-upward",
    "products of 1,000 x 2 digits after training on up to 40 x 2, three seeds",
    upward_rows,
    (
        Figure(
            name="multiplication-upward",
            title="Products far beyond training: 40 x 2 digits to 1,000 x 2",
            caption=(
                "The share of right products with a number of two digits, by the length of the other one, on a "
                "logarithmic axis: grey marks the lengths trained on, and a band reaches from the worst seed to "
                "the best. Every digit of such a product comes from two digits of the long number, both of the "
                "short one and a carry: a line that stays at 100 % to the right of the grey has learned that, and "
                "not only the lengths that it saw."
            ),
            alt="Accuracy of products with a number of two digits, by the other's length, trained lengths shaded.",
            drawn_by="far.accuracy_far",
            rows=upward_rows,
        ),
    ),
    seeds=SEEDS,
    first_seed=FIRST_SEED,
)
