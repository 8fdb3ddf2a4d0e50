"""Every figure by name, with its caption, the words for those who cannot see it, and the runs it is drawn from."""

from lengthwise.report.figures import grids, training
from lengthwise.report.figures import lengths as by_length
from lengthwise.report.figures import training as dynamics
from lengthwise.report.figures import training as settings
from lengthwise.report.figures import training as through_training
from lengthwise.report.figures.far_catalogue import FAR
from lengthwise.report.figures.relative_catalogue import RELATIVE
from lengthwise.report.figures.spec import FigureSpec

TABLES = {
    "addition": "addition",
    "modular-addition": "modular addition",
    "multiplication": "multiplication",
    "modular-multiplication": "modular multiplication",
}
"""A family of runs, as their names begin, and what it is called in words."""

WATCHED = ("dynamics-",)

# A few rows of the tables: all would be too many to read.
INTERVENED = (
    "addition-D4-",
    "addition-D4+D5-",
    "modular-addition-p100-",
    "modular-addition-p101-",
    "modular-addition-p150-",
    "multiplication-D2-",
    "modular-multiplication-p100-",
    "modular-multiplication-p101-",
    # at the scale of a laptop
    "addition-D1+D2-",
    "modular-addition-p35-",
    "modular-addition-p36-",
)


def _accuracy_by_length(family: str, words: str) -> FigureSpec:
    return FigureSpec(
        name=f"accuracy-by-length-{family}",
        title=f"Accuracy by length: {words}",
        caption=(
            "A panel for each trained model: dots are the share of right answers on operands of each length, "
            "dashes what theory says it must be, and grey marks the lengths trained on. Where dots sit on "
            "dashes the theory holds, whether it foretells success or failure."
        ),
        alt=f"Small panels of accuracy against operand length for {words}, measured dots over predicted dashes.",
        runs=(f"{family}-",),
        picture=by_length.accuracy_by_length,
    )


def _own_digits(family: str, words: str) -> FigureSpec:
    return FigureSpec(
        name=f"digit-accuracy-{family}",
        title=f"Digits while learning {words}",
        caption=(
            "A panel for each trained model: coloured lines are the share of problems with that one digit "
            "right, the dashed black line the share with the whole answer right, on problems like those trained "
            "on. The whole answer waits for the slowest digit, so a single line that stays low holds everything "
            "back."
        ),
        alt=f"Small panels of digit accuracy against training step for {words}, with the whole answer dashed.",
        runs=(f"{family}-",),
        picture=through_training.own_digit_accuracy,
    )


PLATEAUS = FigureSpec(
    name="plateaus",
    title="Where modular products stand still",
    caption=(
        "A panel for each modulus whose training stood still: dots are the share of right answers on the training "
        "domain, one line a seed, on a logarithmic axis; pale lines are the exact accuracies of models that know "
        "only part of an answer and guess the rest at best. Dotted is the one nearest to a standstill, orange if "
        "the curve stands there within its error: such a model knows nothing yet, or all but one factor of the "
        "modulus, or all but the operands' top digits."
    ),
    alt="Small panels of accuracy against training step on a logarithmic axis, with predicted heights as lines.",
    runs=("modular-multiplication-",),
    picture=training.accuracy_plateaus,
)

ALL = (
    *(_accuracy_by_length(family, words) for family, words in TABLES.items()),
    FigureSpec(
        name="accuracy-by-domain",
        title="Accuracy on every length while training",
        caption=(
            "Above, the share of right sums on each length as training goes on: theory says that lengths up to "
            "the trained one reach 100 % and longer ones (dashed) stay near 0. Below, the share of answers "
            "equal to those of a model that sees the trained digits alone: if theory is right every length "
            "reaches 100 % there, and long sums are not random but wrong in exactly the foretold way."
        ),
        alt="Six panels against training step: accuracy above, agreement with theory below, for D4, D5 and D4+D5.",
        runs=WATCHED,
        picture=through_training.accuracy_by_domain,
    ),
    FigureSpec(
        name="digit-accuracy",
        title="Every digit of a sum while training",
        caption=(
            "A panel for each digit of the answer, from the units (digit 1) up, measured on sums of one to nine "
            "digits together. The dotted line is where theory says a curve ends: 100 % for digits that training "
            "showed, and above them how often a model that ignores unseen digits is right by luck."
        ),
        alt="Nine panels, one for each answer digit, of accuracy against training step for three training sets.",
        runs=WATCHED,
        picture=through_training.digit_accuracy,
    ),
    *(_own_digits(family, words) for family, words in TABLES.items() if family != "addition"),
    PLATEAUS,
    FigureSpec(
        name="digit-dynamics",
        title="How well two features explain each digit",
        caption=(
            "For each digit, how much of what the model writes there is explained by its own column of digits "
            "and by whether the column below alone makes a carry: 1 is all, 0 nothing. A perfect adder reaches "
            "the dotted line and not 1, because a carry can come from further down; a line that stops there has "
            "learned its digit."
        ),
        alt=(
            "Three panels of R squared against training step, one line for each digit, with dotted ceilings "
            "near 1."
        ),
        runs=WATCHED,
        picture=dynamics.digit_dynamics,
    ),
    FigureSpec(
        name="digit-correlation",
        title="Are digits learned together?",
        caption=(
            "Blue: how the curve of one digit in the figure before goes up and down with the curve of the top "
            "trained digit, from -1 (opposite) over 0 (unrelated) to 1 (together). Two curves that both rise "
            "are correlated whatever the reason, so orange compares their changes from one checkpoint to the "
            "next: near 0, learning one digit tells little about the other."
        ),
        alt="Panels of correlations between digits, blue for values and orange for changes, each from -1 to 1.",
        runs=WATCHED,
        picture=dynamics.digit_correlation,
    ),
    FigureSpec(
        name="learning-order",
        title="Which digit is learned first?",
        caption=(
            "A dot is the training step from which a digit of the answer is right 99 % of the time for good; a "
            "bar spans the seeds. Grey marks the positions that are hardest in theory: if they came last, dots "
            "would rise into the grey, and if they came first, fall."
        ),
        alt="Three panels of the step at which each digit is learned, with the top positions shaded grey.",
        runs=WATCHED,
        picture=dynamics.learning_steps,
    ),
    FigureSpec(
        name="scales",
        title="Model size and number of samples",
        caption=(
            "For each training set the training loss (above) and the share of right answers on unseen problems "
            "of the same kind (below), by model size (colour) and number of training problems (line style). A "
            "curve further to the left learns faster: compare D5 with D4+D5 to see which of them is easier."
        ),
        alt=(
            "Pairs of panels of loss and accuracy against training step for each training set, by size and "
            "samples."
        ),
        runs=("scales-",),
        picture=settings.scales,
    ),
    FigureSpec(
        name="counterexample",
        title="When training shows too little of the top digits",
        caption=(
            "Left, accuracy by length of models whose training shows too little of the top digits, beside the "
            "same model trained on all lengths, to see that it is able to. Right, the digit to blame: a model "
            "whose training sums all had a 1 there should always write 1 (dotted), which is wrong for every "
            "shorter sum."
        ),
        alt="Two panels of accuracy by length: the whole answer, and the digit above the trained ones alone.",
        runs=("counterexample-", "addition-B"),
        picture=by_length.counterexample,
    ),
    FigureSpec(
        name="packing",
        title="One problem a line, or one after another",
        caption=(
            "Left, accuracy on the trained lengths as training goes on; right, accuracy on every length at the "
            "end, for problems padded to lines and for problems strung together without padding. Where the two "
            "colours lie on each other, it does not matter how problems are packed."
        ),
        alt="Two panels, through training and by length, comparing padded lines with concatenation.",
        runs=("packing-",),
        picture=settings.packing,
    ),
    FigureSpec(
        name="dependence",
        title="Which operand digits matter",
        caption=(
            "Change one digit of a (written as usual, units to the right) and see how often each digit of the "
            "answer changes: above in the trained model, below in the function that theory says it computes "
            "(grey: not derived). Left of the dashed line lie digits longer than any trained on: white there "
            "means that the model ignores them."
        ),
        alt=(
            "Pairs of heat maps, measured above exact; columns left of a dashed line are white where digits are "
            "ignored."
        ),
        runs=INTERVENED,
        picture=grids.dependence,
    ),
    FigureSpec(
        name="regularization",
        title="Dropout, weight decay and lengths beyond training",
        caption=(
            "Each cell is one way to train: dropout to the right, weight decay upward, and in it how often the "
            "model does what theory says on lengths longer than trained (a star: it had not learned the trained "
            "lengths). Theory assumes that unseen digits are ignored: dark cells are ways to train after which "
            "they are, pale ones after which they are not."
        ),
        alt="Heat maps of agreement with theory over dropout and weight decay, one for each of four tasks.",
        runs=("regularization-",),
        picture=grids.regularization,
    ),
    *RELATIVE,
    *FAR,
)

FIGURES: dict[str, FigureSpec] = {spec.name: spec for spec in ALL}
