"""The leaderboard as a picture: encodings by tasks, within training and beyond it."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from lengthwise.records.view import RunView
from lengthwise.report.answers import Spread
from lengthwise.report.figures.grids import add_scale
from lengthwise.report.figures.style import COLOURS, PALE, blues, side_by_side
from lengthwise.report.leaderboard import Cell, Leaderboard, leaderboard

MARKS = {True: " ✓", False: " ✗", None: ""}
LINE_HEIGHT = 0.2


def encodings_by_task(views: Sequence[RunView]) -> Figure | None:
    """Left, what was trained on; right, the average over longer lengths, with Table 1's marks."""
    board = leaderboard(views)
    if board is None:
        return None
    figure, (within, beyond) = side_by_side(height=0.8 + LINE_HEIGHT * len(board.lines))
    _draw(within, board, lambda cell: cell.within)
    image = _draw(beyond, board, lambda cell: cell.beyond, lambda cell: MARKS[cell.mark])
    _frame_refuted(beyond, board)
    within.set_title("within training")
    beyond.set_title("longer operands, and theory's mark")
    within.set_yticks(range(len(board.lines)), [line.label for line in board.lines])
    add_scale(figure, image, [within, beyond], "right answers (%)")
    return figure


def _draw(
    axes: Axes, board: Leaderboard, number: Callable[[Cell], Spread], mark: Callable[[Cell], str] = lambda cell: ""
) -> AxesImage:
    grid = np.full((len(board.lines), len(board.tasks)), np.nan)
    for y, x, cell in _places(board):
        value = grid[y, x] = number(cell).mean
        ink = "white" if value > 50 else "black"
        axes.text(x, y, f"{value:.1f}{mark(cell)}", ha="center", va="center", fontsize=6, color=ink)
    axes.set_facecolor(PALE)
    axes.set_xticks(range(len(board.tasks)), board.tasks)
    return axes.imshow(grid, cmap=blues(), vmin=0, vmax=100, aspect="auto")


def _places(board: Leaderboard) -> Iterator[tuple[int, int, Cell]]:
    for y, line in enumerate(board.lines):
        for x, task in enumerate(board.tasks):
            if task in line.cells:
                yield y, x, line.cells[task]


def _frame_refuted(axes: Axes, board: Leaderboard) -> None:
    """Where some seed contradicts theory's mark and none agrees."""
    for y, x, cell in _places(board):
        if cell.verdict is not None and cell.verdict.refuted:
            frame = Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, fill=False, edgecolor=COLOURS[1], linewidth=1.2)
            axes.add_patch(frame)
