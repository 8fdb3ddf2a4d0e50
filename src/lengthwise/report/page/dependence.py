"""Figures of dependence: how often changing an operand's digit changes an answer's digit, measured and exact."""

from collections.abc import Sequence

from lengthwise.records.analysis import Dependence, run_dependence
from lengthwise.report.page.figure import Figure, Grid, heat_map
from lengthwise.report.page.questions import Setting
from lengthwise.report.tables import percent

Shares = dict[tuple[int, int], float]


def dependence_figures(setting: Setting) -> list[Figure]:
    """Measured beside exact, where the records have an intervention."""
    runs = [run for run in setting.runs if any(r.metric.startswith("depends:") for r in run.last_counts)]
    if not runs:
        return []
    found = [run_dependence(run.view) for run in runs]
    note = "How often an answer digit changes where one digit of the first operand is replaced."
    figures = [_figure(_measured(found), "Which digits matter? Measured", note)]
    exact = _exact(found[0])
    if exact:
        note = f"The same, computed exactly for {found[0].hypothesis}."
        figures.append(_figure(exact, "Which digits matter? Theory", note))
    return figures


def _measured(found: Sequence[Dependence]) -> Shares:
    """All runs of a setting together."""
    counts: dict[tuple[int, int], tuple[int, int]] = {}
    for one in found:
        for i, row in enumerate(one.measured, start=1):
            for j, cell in enumerate(row, start=1):
                changed, total = counts.get((i, j), (0, 0))
                counts[i, j] = changed + cell.correct, total + cell.total
    return {place: changed / total for place, (changed, total) in counts.items()}


def _exact(found: Dependence) -> Shares:
    return {
        (i, j): float(cell)
        for i, row in enumerate(found.exact, start=1)
        for j, cell in enumerate(row, start=1)
        if cell is not None
    }


def _figure(shares: Shares, title: str, note: str) -> Figure:
    """The ones place stands at the right and at the bottom, as numbers are written."""
    answers, operands = (sorted({place[k] for place in shares}, reverse=True) for k in (0, 1))
    dead = [j for j in sorted(operands) if all(shares.get((i, j), 0.0) < 0.01 for i in answers)]
    without = ", ".join(map(str, dead)) or "none"
    return heat_map(
        Grid(
            rows=[str(i) for i in answers],
            columns=[str(j) for j in operands],
            shares=[[shares.get((i, j)) for j in operands] for i in answers],
        ),
        title=title,
        note=f"{note} Operand digits that change nothing: {without}.",
        alt=f"{title}: how often changing an operand digit changes an answer digit. Operand digits that change "
        f"less than 1 % of every answer digit: {without}. Digit 1 changes answer digit 1 in "
        f"{percent(shares.get((1, 1)))} % of problems.",
        x="digit of the operand",
        y="digit of the answer",
        corner="answer digit, operand digit",
    )
