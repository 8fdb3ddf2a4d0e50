"""Figures through training: every test domain at every evaluation, and answers digit by digit."""

from collections.abc import Callable

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH
from lengthwise.report.page.figure import (
    MOST_COLUMNS,
    MOST_POINTS,
    DataTable,
    Figure,
    Grid,
    axis_title,
    colour,
    heat_map,
    percent_axis,
    percents,
    symbol,
    thinned,
)
from lengthwise.report.page.questions import Question, Setting
from lengthwise.report.page.runs import DIGIT
from lengthwise.report.tables import percent


def training_figures(question: Question, setting: Setting) -> list[Figure]:
    """Heat maps of domain by step: how often it is right, and how often it does as predicted."""
    if len(setting.steps) < 3:
        return []
    references = {domain: str(row.hypothesis) for domain, row in question.predictions.items()}
    found = [
        _through_training(question, setting, "Right answers through training", lambda domain: TRUTH),
        _through_training(question, setting, "Agreement with theory through training", references.__getitem__),
    ]
    return [figure for figure in found if figure is not None]


def _through_training(
    question: Question, setting: Setting, title: str, reference: Callable[[Domain], str]
) -> Figure | None:
    every = {
        domain: setting.mean(lambda run, d=domain: run.shares(d, reference(d))) for domain in question.domains
    }
    means = {domain: values for domain, values in every.items() if values}
    if not means:
        return None
    steps = thinned(sorted({step for values in means.values() for step in values}), MOST_COLUMNS)
    grid = Grid(
        rows=[str(domain) for domain in means],
        columns=[f"{step:,}" for step in steps],
        shares=[[values.get(step) for step in steps] for values in means.values()],
    )
    ends = ", ".join(f"{name} {percent(row[-1])} %" for name, row in zip(grid.rows, grid.shares, strict=True))
    return heat_map(
        grid,
        title=title,
        note=_averaged(setting) or "A row is a test domain, a column an evaluation.",
        alt=f"{title}: {len(grid.rows)} test domains at {len(steps)} evaluations. At the last: {ends}.",
        x="training step",
        y="tested on",
        corner="tested on, at step",
    )


def digit_figures(question: Question, setting: Setting) -> list[Figure]:
    found = [_digits_at_the_end(question, setting)]
    domains = list(dict.fromkeys([question.train, max(question.domains, key=lambda d: d.length)]))
    found += [_digits_through_training(setting, domain) for domain in domains]
    return [figure for figure in found if figure is not None]


def _digits_at_the_end(question: Question, setting: Setting) -> Figure | None:
    every = {domain: _last_digits(setting, domain) for domain in question.domains}
    means = {domain: values for domain, values in every.items() if values}
    if not means:
        return None
    places = sorted({place for values in means.values() for place in values}, reverse=True)
    grid = Grid(
        rows=[str(domain) for domain in means],
        columns=[str(place) for place in places],
        shares=[[values.get(place) for place in places] for values in means.values()],
    )
    lowest = ", ".join(
        f"{domain} digit {min(values, key=lambda k: values[k])} at {percent(min(values.values()))} %"
        for domain, values in means.items()
        if min(values.values()) < 0.99
    )
    return heat_map(
        grid,
        title="Right answers, digit by digit",
        note="After training. Digit 1 is the last one, the ones place; each digit is judged alone. "
        + _averaged(setting),
        alt=f"Share of right digits, by test domain and digit. The worst digits: {lowest or 'all above 99 %'}.",
        x="digit of the answer",
        y="tested on",
        corner="tested on, digit",
    )


def _last_digits(setting: Setting, domain: Domain) -> dict[int, float]:
    return {place: values[max(values)] for place, values in _digit_curves(setting, domain).items()}


def _digit_curves(setting: Setting, domain: Domain) -> dict[int, dict[int, float]]:
    """For each digit, its accuracy at every step where it was measured."""
    places = sorted(set.union(*(run.digits(domain) for run in setting.runs)))
    curves = {p: setting.mean(lambda run, p=p: run.shares(domain, TRUTH, f"{DIGIT}{p}")) for p in places}
    return {place: values for place, values in curves.items() if values}


def _digits_through_training(setting: Setting, domain: Domain) -> Figure | None:
    curves = _digit_curves(setting, domain)
    steps = thinned(sorted({step for values in curves.values() for step in values}), MOST_POINTS)
    if len(steps) < 3:
        return None
    shares = {place: [values.get(step) for step in steps] for place, values in curves.items()}
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": f"digit {place}",
            "x": steps,
            "y": percents(values),
            "line": {"color": colour(index), "width": 2},
            "marker": {"color": colour(index), "symbol": symbol(index), "size": 6},
            "hovertemplate": f"digit {place}, step %{{x:,}}: %{{y:.2f}} %<extra></extra>",
        }
        for index, (place, values) in enumerate(shares.items())
    ]
    ends = ", ".join(f"digit {place} {percent(values[-1])} %" for place, values in shares.items())
    return Figure(
        title=f"Digit by digit through training, on {domain}",
        note="Which digits come first, which last? Digit 1 is the ones place. " + _averaged(setting),
        alt=f"Share of right digits on {domain} against training steps, a curve per digit. At the end: {ends}.",
        data=traces,
        layout={
            "xaxis": {"title": axis_title("training step"), "tickformat": ","},
            "yaxis": percent_axis("right digits"),
            "height": 400,
        },
        table=DataTable(
            ("digit, at step", *(f"{step:,}" for step in steps)),
            [(str(place), *map(percent, values)) for place, values in shares.items()],
        ),
    )


def _averaged(setting: Setting) -> str:
    return "" if len(setting.runs) == 1 else f"Mean of {len(setting.runs)} runs."
