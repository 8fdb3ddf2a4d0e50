"""What a figure is: a picture of some runs, with the words that stand under it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from lengthwise.records.view import RunView
from lengthwise.report.figures.style import look

Picture = Callable[[Sequence[RunView]], Figure | None]


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    name: str
    title: str
    caption: str
    """Two sentences that a student understands: what is drawn, and what to see in it."""
    alt: str
    """For those who cannot see it."""
    runs: tuple[str, ...]
    """How the names of the runs it shows begin."""
    picture: Picture

    def wants(self, view: RunView) -> bool:
        return view.name.startswith(self.runs)

    def draw(self, views: Sequence[RunView]) -> Figure | None:
        """From the runs it wants among these; None where they do not hold what it shows."""
        wanted = sorted(filter(self.wants, views), key=_place)
        with look():
            return self.picture(wanted) if wanted else None


def _place(view: RunView) -> tuple[str, int, bool, int, int]:
    """Panels and legends go by task, modulus and training set: D4 before D5 before D4+D5."""
    task, train = view.task, view.train
    return task.operation, task.modulus or 0, len(train.parts) > 1, train.length, view.seed
