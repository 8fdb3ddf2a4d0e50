"""The figures of relative positions and of the leaderboard, each with its caption."""

from lengthwise.report import leaderboard as board
from lengthwise.report.beyond import RESIDUES
from lengthwise.report.figures import grids as candidates
from lengthwise.report.figures import grids as leaderboard
from lengthwise.report.figures import lengths as relative
from lengthwise.report.figures.spec import FigureSpec
from lengthwise.report.relative import ADDITION, JELASSI, PRODUCTS

RELATIVE = (
    FigureSpec(
        name="leaderboard",
        title="Every encoding on every task",
        caption=(
            "A line for each positional encoding, the best on longer operands first: left, the share of right "
            "answers on what it was trained on, right, on all longer lengths together. ✓ and ✗ are what theory "
            "says, whether it goes on to longer operands, and a frame marks where the measurement says otherwise."
        ),
        alt="Two heat maps of encodings by tasks: right answers within training and on longer operands.",
        runs=(board.PREFIX,),
        picture=leaderboard.encodings_by_task,
    ),
    FigureSpec(
        name="relative-addition",
        title="Sums upward with relative positions",
        caption=(
            "A panel for each encoding, trained on sums of exactly three or four digits: blue are right answers, "
            "orange and green answers equal to those of a model that sees n or n + 1 columns at a time, each with "
            "a band over seeds. Theory says that green stays at 100 and blue follows the grey dashes; the paper's "
            "bound is dotted."
        ),
        alt="Panels of right answers, and of agreement with two windows, against operand length, by encoding.",
        runs=(ADDITION,),
        picture=relative.sums_by_length,
    ),
    FigureSpec(
        name="relative-addition-chains",
        title="Where sums fail: carry chains",
        caption=(
            "Longer sums sorted by how far a carry travels in them: theory says that chains as long as those in "
            "training are right and longer ones wrong, a cliff right after n (grey dashes; for the paper's window "
            "one earlier, dotted). A blue line that falls before the cliff fails elsewhere, and one that does not "
            "fall has learned to hand carries on."
        ),
        alt="Panels of right answers against the longest carry chain, measured over a predicted cliff.",
        runs=(ADDITION,),
        picture=relative.sums_by_chain,
    ),
    FigureSpec(
        name="jelassi-5-20",
        title="From five digits to twenty",
        caption=(
            "Right sums by length for each encoding, trained on sums of one length alone and on all lengths up "
            "to it, each with a band over seeds. Jelassi and others report that encoders with relative "
            "positions go from five to twenty digits; here the same is asked of a decoder."
        ),
        alt="Panels of right answers against operand length up to twenty digits, by encoding and training set.",
        runs=(JELASSI,),
        picture=relative.five_to_twenty,
    ),
    FigureSpec(
        name="modular-relative",
        title="Which function do residues follow?",
        caption=(
            "For each encoding (across) how often its answers on longer operands are those of a candidate (down): "
            "truth, the last digits alone (truncated), the first alone (leading), digits some columns apart taken "
            "for alike (folded), sums that lose carries (windowed). A dark cell names the function that was "
            "learned, and a column without one was none of them."
        ),
        alt="Heat maps of agreement with candidate functions by encoding, one for each modulus.",
        runs=(RESIDUES,),
        picture=candidates.candidate_grid,
    ),
    FigureSpec(
        name="multiplication-relative",
        title="Longer products, with and without their steps",
        caption=(
            "Right products by length for each encoding: blue answers at once, orange writes the sum and carry of "
            "every column first. If writing them removed the difficulty, orange would stay high where blue falls."
        ),
        alt="Panels of right products against operand length, answered at once and with steps, by encoding.",
        runs=(PRODUCTS,),
        picture=relative.products_by_length,
    ),
)
