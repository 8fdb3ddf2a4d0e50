"""The figures of operands far longer than trained, each with its caption."""

from lengthwise.report.figures import lengths as anatomy
from lengthwise.report.figures import lengths as far
from lengthwise.report.figures.spec import FigureSpec

LENGTHS = {
    "coupled-1000": "from 20 digits to 1,000",
    "coupled-200": "from 30 digits to 200",
    "long-encodings": "every encoding, from 20 digits to 100",
}
"""A family of runs, as their names begin, and what it is called in words."""

LOOKED_INTO = ("coupled-1000", "long-encodings")


def _accuracy(family: str, words: str) -> FigureSpec:
    return FigureSpec(
        name=family,
        title=f"Sums far beyond training: {words}",
        caption=(
            "The share of right sums by length, on a logarithmic axis, of random operands and of special ones "
            "(one short operand, a carry through the whole number, carries at every other digit): grey marks the "
            "lengths trained on, a band reaches from the worst seed to the best, and where lines of one panel "
            "coincide the thinner lies on the wider. A line that stays at 100 % to the right of the grey has "
            "learned to add, and not only to add the lengths that it saw."
        ),
        alt=f"Accuracy against operand length on a logarithmic axis, {words}, with the trained lengths shaded.",
        runs=(f"{family}-",),
        picture=far.accuracy_far,
    )


def _first_wrong(family: str) -> FigureSpec:
    return FigureSpec(
        name=f"first-wrong-{family}",
        title=f"Where a long sum first goes wrong: {LENGTHS[family]}",
        caption=(
            "Of the wrong answers of each length, the share whose first wrong digit lies in each tenth of the "
            "answer, the units first; at the end, those that have all digits right and do not stop there. A flat "
            "line says that every digit is equally likely to fail, a peak that one place is special: the first "
            "digits beyond the trained length, or the end."
        ),
        alt="Lines, one for each length, of the share of wrong answers by the tenth with the first wrong digit.",
        runs=(f"{family}-",),
        picture=anatomy.first_wrong,
    )


def _margin(family: str) -> FigureSpec:
    return FigureSpec(
        name=f"margin-{family}",
        title=f"How narrowly right: {LENGTHS[family]}",
        caption=(
            "An answer is as safe as its weakest digit: the figure shows by how much the right digit there beats "
            "the best other one (in logits), on average over answers (blue) and in the worst tenth of them "
            "(orange), each with a band over seeds. Where a line falls below the dotted zero, answers are wrong: "
            "a slow fall with length means that more digits bring more chances to fail, a sudden one that "
            "something breaks at that length."
        ),
        alt="Smallest margin of an answer against operand length: the mean, the lowest tenth, and a line at zero.",
        runs=(f"{family}-",),
        picture=anatomy.margin_by_length,
    )


def _attention(family: str) -> FigureSpec:
    return FigureSpec(
        name=f"attention-{family}",
        title=f"Does attention stay sharp: {LENGTHS[family]}",
        caption=(
            "Each panel is one run, or one layer of it in which some head's solid line starts at 20 % or more "
            "(where none does, the layer that comes closest), and each colour one of its heads, up to four, "
            "ranked by the solid line at the shortest length because the number of a head means nothing across "
            "seeds: when an answer digit is written, the solid line is how much of a head's attention lies on the "
            "operand digits of that column and of the one below, the dashed one its largest weight on any one "
            "token. A head whose lines stay level to the right of the grey finds its digits in long numbers as it "
            "did among twenty, and one whose lines fall loses them: a head that reads one operand digit alone has "
            "100 % twice, one that reads two 100 % and 50 %, one that reads the answer's digit of the column "
            "below as well, which is not counted, 67 % and 33 % (where attention goes by place and faint weights "
            "do not count, 90 % and 45 %, 53 % and 27 % for the last two), and one at 0 % looks elsewhere."
        ),
        alt=(
            "Share of attention on needed digits and largest weight against operand length: a panel for each "
            "run or layer, a colour for each head."
        ),
        runs=(f"{family}-",),
        picture=anatomy.attention_by_length,
    )


PAIRS = FigureSpec(
    name="abacus-100",
    title="Right answers by the lengths of both operands",
    caption=(
        "The share of right answers by the lengths of both operands: dark is all, white none, and the orange "
        "square holds the pairs of lengths trained on. What is dark outside the square was never shown in "
        "training, and a pale upper right corner would say that one operand may be long but not both."
    ),
    alt="Heat maps of accuracy by the lengths of both operands, the trained square outlined.",
    runs=("abacus-100-",),
    picture=far.pair_map,
)

PRODUCTS = FigureSpec(
    name="multiplication-upward",
    title="Products far beyond training: 40 x 2 digits to 1,000 x 2",
    caption=(
        "The share of right products with a number of two digits, by the length of the other one, on a "
        "logarithmic axis: grey marks the lengths trained on, and a band reaches from the worst seed to the best. "
        "Every digit of such a product comes from two digits of the long number, both of the short one and a "
        "carry: a line that stays at 100 % to the right of the grey has learned that, and not only the lengths "
        "that it saw."
    ),
    alt="Accuracy of products by a number of two digits against the other's length, the trained lengths shaded.",
    runs=("upward-multiplication-",),
    picture=far.accuracy_far,
)

FAR: tuple[FigureSpec, ...] = (
    *(_accuracy(family, words) for family, words in LENGTHS.items()),
    PAIRS,
    PRODUCTS,
    *(spec(family) for family in LOOKED_INTO for spec in (_first_wrong, _margin, _attention)),
)
