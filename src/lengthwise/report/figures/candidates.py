"""The figure of the search for a function: candidates by encodings, and how often they answer alike."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import grouped
from lengthwise.report.figures.grids import add_scale
from lengthwise.report.figures.style import PALE, blues, separate_panels
from lengthwise.report.recipe_tables import Candidate, candidates, modulus_words

SHOWN_CANDIDATES = 3
"""Of each encoding, so many of the best."""


def candidate_grid(views: Sequence[RunView]) -> Figure | None:
    """A panel for each task: candidates by encodings, agreement on longer operands."""
    moduli = grouped(views, lambda view: f"modulo {modulus_words(view.task)}")
    if not moduli:
        return None
    found = {
        label: {
            encoding: candidates([curves.view for curves in seeds])
            for encoding, seeds in grouped([c.view for c in runs], lambda view: view.spec.positions).items()
        }
        for label, runs in moduli.items()
    }
    shown = {label: _shown(columns) for label, columns in found.items()}
    figure, axes = separate_panels(len(found), 0.7 + 0.17 * max(map(len, shown.values())))
    image = None
    for ax, (label, columns) in zip(axes, found.items(), strict=True):
        grid = _agreement_grid(shown[label], columns)
        ax.set_facecolor(PALE)
        image = ax.imshow(grid, cmap=blues(), vmin=0, vmax=100, aspect="auto")
        ax.set_xticks(range(len(columns)), list(columns), rotation=45, ha="right")
        ax.set_yticks(range(len(shown[label])), shown[label])
        ax.set_title(label)
        for (y, x), value in np.ndenumerate(grid):
            ink = "white" if value > 50 else "black"
            ax.text(x, y, f"{value:.0f}", ha="center", va="center", fontsize=6, color=ink)
    add_scale(figure, image, axes, "agreement (%)")
    return figure


def _shown(columns: Mapping[str, Sequence[Candidate]]) -> list[str]:
    """The best of every encoding, and truth; those that agree most with any come first."""
    best = {found[0].name for found in columns.values()} | {TRUTH}
    best |= {candidate.name for found in columns.values() for candidate in found[:SHOWN_CANDIDATES]}
    highest = {name: max(_agreement(name, found) for found in columns.values()) for name in best}
    return sorted(best, key=lambda name: (-highest[name], name))


def _agreement_grid(names: Sequence[str], columns: Mapping[str, Sequence[Candidate]]) -> np.ndarray:
    return np.array([[_agreement(name, found) for found in columns.values()] for name in names])


def _agreement(name: str, found: Sequence[Candidate]) -> float:
    return next((candidate.agreement.mean for candidate in found if candidate.name == name), 0.0)
