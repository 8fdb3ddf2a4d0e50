"""Figures by length: how often answers are right beside the prediction, agreement with it, spread over seeds."""

from collections.abc import Sequence
from typing import Any

from lengthwise.records.verdicts import TOLERANCE, Measured, Verdict
from lengthwise.report.page.figure import INK, SHADE, DataTable, Figure, named_axis, percent_axis
from lengthwise.report.page.points import Column, Pick, lowest, traces
from lengthwise.report.page.questions import Question, Setting
from lengthwise.report.tables import EXACT, percent

AXIS = "tested on"


def length_figures(question: Question) -> list[Figure]:
    return [_accuracy(question), *([_agreement(question)] if question.predicted else [])]


def spread(question: Question, setting: Setting) -> Figure | None:
    """Each run on its own, where there are several."""
    if len(setting.runs) < 2:
        return None
    pick = _agreeing if question.predicted else _right
    axis = "agreement" if question.predicted else "right answers"
    columns = [
        Column.of(f"seed {run.view.seed}: {run.label}", (run,), question.domains, pick) for run in setting.runs
    ]
    return Figure(
        title="Spread over seeds",
        note=f"Each run of this setting on its own: {axis}, with 95 % intervals.",
        alt=f"{axis} of each of {len(setting.runs)} runs, by test domain. {lowest(columns)}",
        data=traces(columns),
        layout=_layout(question, axis, _zoom(columns)),
        table=_table(question, columns),
    )


def _accuracy(question: Question) -> Figure:
    columns = _columns(question, _right)
    first = columns[0]
    alt = ", ".join(
        f"{domain} {percent(point.share)} % (theory {percent(question.predictions[domain].accuracy, EXACT)})"
        for domain, point in first.measured.items()
    )
    return Figure(
        title="How often is it right?",
        note=f"Right answers by length. {_bars(question)} {_shaded(question)}",
        alt=f"Right answers by test domain, {first.name}: {alt}.",
        data=[*([_prediction_trace(question)] if question.predicted else []), *traces(columns)],
        layout=_layout(question, "right answers"),
        table=_table(question, columns, theory=True),
    )


def _agreement(question: Question) -> Figure:
    columns = _columns(question, _agreeing)
    layout = _layout(question, "same answer as predicted")
    limit = 100 * (1 - TOLERANCE)
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit}
    layout["shapes"] = [*layout["shapes"], {**line, "line": {"color": INK, "width": 1, "dash": "dot"}}]
    return Figure(
        title="Does it compute what theory says?",
        note="Answers equal to those of the predicted function, right or wrong. "
        f"A prediction holds above the dotted line ({limit:g} %).",
        alt=f"Agreement with the predicted function by test domain. {lowest(columns)}",
        data=traces(columns),
        layout=layout,
        table=_table(question, columns),
    )


def _right(row: Verdict) -> Measured:
    return row.accuracy


def _agreeing(row: Verdict) -> Measured | None:
    return row.agreement


def _columns(question: Question, pick: Pick) -> list[Column]:
    alone = len(question.settings) == 1
    return [
        Column.of(f"measured, {setting.label}" if alone else setting.label, setting.runs, question.domains, pick)
        for setting in question.settings
    ]


def _prediction_trace(question: Question) -> dict[str, Any]:
    rows = list(question.predictions.values())
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "predicted by theory",
        "x": list(range(len(rows))),
        "y": [None if row.accuracy is None else round(float(100 * row.accuracy), 4) for row in rows],
        "line": {"color": INK, "width": 1.5, "dash": "dot"},
        "marker": {"color": INK, "symbol": "diamond-open", "size": 14},
        "text": [f"{row.domain}: predicted {percent(row.accuracy, EXACT)} %" for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _layout(question: Question, measured: str, begin: float = 0) -> dict[str, Any]:
    band = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    look = {"fillcolor": SHADE, "line": {"width": 0}}
    return {
        "xaxis": named_axis([str(domain) for domain in question.domains], AXIS),
        "yaxis": percent_axis(measured, begin),
        "shapes": [
            {**band, **look, "x0": i - 0.5, "x1": i + 0.5}
            for i, domain in enumerate(question.domains)
            if question.in_training(domain)
        ],
        "height": 380,
    }


def _zoom(columns: Sequence[Column]) -> float:
    """Where an axis may begin, so that differences show; never less than one percentage point is shown."""
    return 100 * min(0.99, *(point.low for column in columns for point in column.measured.values()))


def _table(question: Question, columns: Sequence[Column], *, theory: bool = False) -> DataTable:
    named = [(f"{column.name} %", [column.text(domain) for domain in question.domains]) for column in columns]
    if theory:
        named.insert(0, ("predicted %", [percent(row.accuracy, EXACT) for row in question.predictions.values()]))
    names, cells = zip(*named, strict=True)
    return DataTable((AXIS, *names), list(zip(map(str, question.domains), *cells, strict=True)))


def _bars(question: Question) -> str:
    """What the bars of points are."""
    if all(len(setting.runs) == 1 for setting in question.settings):
        return "Bars: 95 % intervals (Clopper-Pearson)."
    return "Bars: from the lowest to the highest run; the 95 % interval where there is one."


def _shaded(question: Question) -> str:
    return "Shaded: seen in training." if any(map(question.in_training, question.domains)) else ""
