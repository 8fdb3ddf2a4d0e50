"""Figures from records alone: `FIGURES` names them, `draw` makes one from runs, `save` writes SVG and PNG."""

from lengthwise.report.figures.catalogue import FIGURES
from lengthwise.report.figures.spec import FigureSpec
from lengthwise.report.figures.style import save

__all__ = ["FIGURES", "FigureSpec", "save"]
