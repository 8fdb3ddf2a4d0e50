"""The plots of the page: their data for plotly, and their tables of numbers; heat maps are coloured tables.

Their texts are in plots.toml; their style (colours for light and dark pages, axes, scales) is in plots.js.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Template

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import TOLERANCE
from lengthwise.report import group_by
from lengthwise.report.queries import (
    Point,
    Seeds,
    by_lengths,
    dependence_cells,
    everywhere,
    failures,
    point,
    spread,
)
from lengthwise.report.tables import EXACT, percent, percent_text

if TYPE_CHECKING:
    from lengthwise.report.page import Question, SettingRuns, ShownRun

# Okabe and Ito's colours, which colour-blind readers can distinguish. Yellow comes last, as it is pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
SYMBOLS = ("circle", "square", "triangle-up", "cross", "diamond", "x", "star")
MOST_COLUMNS, MOST_DIGITS, MOST_POINTS = 8, 24, 40

FAILURES = {
    "exact": ("right", "#009E73"),
    "malformed": ("not a number", "#CC79A7"),
    "wrong_length": ("wrong number of digits", "#E69F00"),
}
# Colours of wrong digits from the units up, from light to dark, so that their order is visible.
DIGIT_COLOURS = ("#C9E6F6", "#9BD0EE", "#6DBBE6", "#3F9FD2", "#1C87BE", "#0072B2", "#005C90")

Trace = dict[str, Any]
Curves = dict[str, dict[Domain, Point]]
"""Points by name and by the test domains that were measured."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    words: dict[str, str]
    """Its texts from plots.toml, filled in."""
    columns: Sequence[str]
    """Headings of its table of numbers, after the corner."""
    rows: Sequence[Sequence[str]]
    data: Sequence[Trace] = ()
    heat: Sequence[Sequence[float | None]] = ()
    """Percentages that colour the table, for heat maps."""
    names: Sequence[str] = ()
    """Labels of the integers 0, 1, ... on the x axis."""
    shaded: Sequence[int] = ()
    """Those of these that are trained lengths."""
    begin: float = 0
    """Start of the y axis, in percent."""
    limit: float | None = None
    """Percentage above which a prediction holds."""

    def as_json(self) -> dict[str, Any]:
        drawn = {key: value for key, value in vars(self).items() if key not in ("words", "columns", "rows")}
        axes = {axis: self.words[axis] for axis in "xy" if axis in self.words}
        table = {"columns": (self.words["corner"], *self.columns), "rows": self.rows}
        return axes | drawn | {"table": table}


@cache
def _templates() -> dict[str, dict[str, Template]]:
    found = tomllib.loads(files("lengthwise.report.page").joinpath("plots.toml").read_text())
    return {kind: {key: Template(text) for key, text in words.items()} for kind, words in found.items()}


def worded(kind: str, **facts: Any) -> dict[str, str]:
    return {key: template.render(facts) for key, template in _templates()[kind].items()}


def setting_plots(question: "Question", setting: "SettingRuns") -> list[list[Plot]]:
    """Groups of plots: pairs that are shown side by side, such as measured and exact, then the rest."""
    seeds = Seeds(tuple(run.view for run in setting.runs))
    longest = max(question.domains, key=lambda domain: domain.length)
    found = [training_plots(question, seeds), dependence_plots(seeds)]
    others = [
        digits_at_the_end(question, seeds),
        *(digits_through_training(seeds, domain) for domain in dict.fromkeys([question.spec.train, longest])),
        failure_plot(seeds),
        length_map(seeds),
        spread_plot(question, setting),
    ]
    pairs = [pair for pair in found if len(pair) > 1]
    rest = [*(plot for pair in found if len(pair) == 1 for plot in pair), *filter(None, others)]
    return [group for group in (*pairs, rest) if group]


# By length -----------------------------------------------------------------------------------------------------


def length_plots(question: "Question") -> list[Plot]:
    """Accuracy by length, and agreement with theory if there is a prediction."""
    prefix = "measured, " if len(question.settings) == 1 else ""
    named = {prefix + setting.label: setting.runs for setting in question.settings}
    curves = {name: _by_domain(runs, question, "accuracy") for name, runs in named.items()}
    exact = {domain: row.accuracy for domain, row in question.predictions.items()}
    name, first = next(iter(curves.items()))
    texts = [f"{d} {percent_text(own.mean)} % (theory {percent(exact[d], EXACT)})" for d, own in first.items()]
    several = any(len(setting.runs) > 1 for setting in question.settings)
    words = worded("accuracy", several=several, shaded=question.trained, name=name, points=", ".join(texts))
    plots = [_length_plot(question, curves, words, exact=exact)]
    if question.predicted:
        curves = {name: _by_domain(runs, question, "agreement") for name, runs in named.items()}
        limit = 100 * (1 - TOLERANCE)
        words = worded("agreement", limit=f"{limit:g}", lowest=_lowest(curves))
        plots.append(_length_plot(question, curves, words, limit=limit))
    return plots


def spread_plot(question: "Question", setting: "SettingRuns") -> Plot | None:
    """Each run separately, if there are several."""
    if len(setting.runs) < 2:
        return None
    what = "agreement" if question.predicted else "accuracy"
    curves = {f"seed {run.view.seed}: {run.label}": _by_domain([run], question, what) for run in setting.runs}
    words = worded("spread", what=what, runs=len(setting.runs), lowest=_lowest(curves))
    # Zoom in so that differences are visible, to a range of at least one percentage point.
    begin = min(99, *(own.low for points in curves.values() for own in points.values()))
    return _length_plot(question, curves, words, begin=begin)


def _by_domain(runs: "Sequence[ShownRun]", question: "Question", what: str) -> dict[Domain, Point]:
    """The accuracy, or the agreement, that verdicts have."""
    rows = group_by((row for run in runs for row in run.verdicts), lambda row: row.prediction.domain)
    found = {d: [own for row in rows.get(d, ()) if (own := getattr(row, what))] for d in question.domains}
    return {domain: point(measured) for domain, measured in found.items() if measured}


def _lowest(curves: Curves) -> str:
    """The lowest point in words, for screen readers."""
    mean, domain, name = min(
        (own.mean, str(d), name) for name, points in curves.items() for d, own in points.items()
    )
    return f"The lowest is {percent_text(mean)} %, on {domain} ({name})."


def _length_plot(
    question: "Question",
    curves: Curves,
    words: dict[str, str],
    exact: Mapping[Domain, Fraction | None] | None = None,
    **more: Any,
) -> Plot:
    """Curves over the test domains, the trained ones shaded."""
    domains = question.domains
    traces = [_points_trace(domains, *curve, k, len(curves)) for k, curve in enumerate(curves.items())]
    table = {f"{name} %": [own[d].text if d in own else "–" for d in domains] for name, own in curves.items()}
    if exact is not None:
        predicted = [percent(accuracy, EXACT) for accuracy in exact.values()]
        table = {"predicted %": predicted, **table}
        if question.predicted:
            heights = [None if share is None else round(float(100 * share), 4) for share in exact.values()]
            texts = [f"{domain}: predicted {text} %" for domain, text in zip(exact, predicted, strict=True)]
            marker = {"symbol": "diamond-open", "size": 14}
            theory = scatter("predicted by theory", list(range(len(exact))), heights, marker)
            traces = [{**theory, "line": {"width": 1.5, "dash": "dot"}, "text": texts}, *traces]
    names = list(map(str, domains))
    rows = list(zip(names, *table.values(), strict=True))
    look = {"names": names, "shaded": question.trained, **more}
    return Plot(words=words, data=traces, columns=list(table), rows=rows, **look)


def _points_trace(domains: Sequence[Domain], name: str, points: dict[Domain, Point], k: int, count: int) -> Trace:
    """Curve k of `count`, moved sideways, as equal points would hide each other."""
    offset = (k - (count - 1) / 2) * min(0.12, 0.7 / count)
    own = points.values()
    ends = {
        "array": [round(max(0, one.high - one.mean), 4) for one in own],
        "arrayminus": [round(max(0, one.mean - one.low), 4) for one in own],
    }
    places = [round(domains.index(domain) + offset, 3) for domain in points]
    texts = [f"{domain}: {one.text} %" for domain, one in points.items()]
    drawn = scatter(name, places, [round(one.mean, 4) for one in own], mark(k, 9), mode="markers")
    return {**drawn, "error_y": ends, "text": texts}


# Through training, and digit by digit --------------------------------------------------------------------------


def training_plots(question: "Question", seeds: Seeds) -> list[Plot]:
    """Heat maps of accuracy and of agreement by domain and step."""
    if everywhere(seeds.records())["step"].n_unique() < 3:
        return []
    predicted = {str(domain): str(row.hypothesis) for domain, row in question.predictions.items()}
    plots: list[Plot] = []
    for what, references in (("Accuracy", dict.fromkeys(predicted, TRUTH)), ("Agreement", predicted)):
        found = seeds.domains_through_training(references)
        domains = [domain for domain in references if domain in found]
        if domains:
            measured = sorted({step for own in found.values() for step in own})
            steps = thinned(measured, MOST_COLUMNS)
            cells = {(domain, step): own.mean for domain in domains for step, own in found[domain].items()}
            last = {domain: cells[domain, steps[-1]] for domain in domains if (domain, steps[-1]) in cells}
            facts = {"what": what, "runs": len(seeds.views), "domains": len(domains), "steps": len(steps)}
            words = worded("through_training", **facts, thinned=len(steps) < len(measured), ends=_reach(last))
            plots.append(heat_map(cells, domains, steps, words))
    return plots


def _reach(means: Mapping[str, float]) -> str:
    """From the lowest to the highest, in words: a screen reader finds them all in the table.

    >>> _reach({"D4": 100, "D5": 12.5, "D6": 0}), _reach({"D4": 100, "D5": 100})
    ('0 % on D6 to 100 % on D4', '100 %')
    """
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if means[low] == means[high]:
        return f"{percent_text(means[low])} %"
    return f"{percent_text(means[low])} % on {low} to {percent_text(means[high])} % on {high}"


def digits_at_the_end(question: "Question", seeds: Seeds) -> Plot | None:
    tested = list(map(str, question.domains))
    found = spread(seeds.at_end("digit"), "domain", "i")
    cells = {(domain, digit): own.mean for (domain, digit), own in found.items() if domain in tested}
    if not cells:
        return None
    domains = [domain for domain in tested if any(domain == own for own, _ in cells)]
    places = sorted({digit for _, digit in cells}, reverse=True)
    worst = {domain: min((cells[domain, k], k) for k in places if (domain, k) in cells) for domain in domains}
    low = [f"{name} digit {k} at {percent_text(share)} %" for name, (share, k) in worst.items() if share < 99]
    digits = thinned(places, MOST_DIGITS)
    facts = {"runs": len(seeds.views), "low": ", ".join(low), "thinned": len(digits) < len(places)}
    return heat_map(cells, domains, digits, worded("digits_at_the_end", **facts))


def digits_through_training(seeds: Seeds, domain: Domain) -> Plot | None:
    curves = seeds.digits_through_training(domain)
    steps = thinned(sorted({step for own in curves.values() for step in own}), MOST_POINTS)
    if len(steps) < 3:
        return None
    found = {digit: [own[step].mean if step in own else None for step in steps] for digit, own in curves.items()}
    ends = ", ".join(f"digit {digit} {percent_text(means[-1])} %" for digit, means in found.items())
    return Plot(
        words=worded("digits_through_training", domain=domain, runs=len(seeds.views), ends=ends),
        data=[
            {**scatter(f"digit {digit}", steps, _rounded(means), mark(k, 6)), "line": {"width": 2}}
            for k, (digit, means) in enumerate(found.items())
        ],
        columns=[f"{step:,}" for step in steps],
        rows=[(str(digit), *map(percent_text, means)) for digit, means in found.items()],
    )


# Answers at the end --------------------------------------------------------------------------------------------


def dependence_plots(seeds: Seeds) -> list[Plot]:
    """Dependence, measured and exact, if the records have it."""
    found = dependence_cells(seeds)
    if found is None:
        return []
    measured, exact, predicted = found
    plots: list[Plot] = []
    for cells, hypothesis in ((measured, None), (exact, predicted)):
        if cells:
            # The units are at the right and at the bottom, as numbers are written.
            answers, operands = (sorted({place[k] for place in cells}, reverse=True) for k in (0, 1))
            dead = [str(j) for j in reversed(operands) if all(cells.get((i, j), 0.0) < 1 for i in answers)]
            facts = {"hypothesis": hypothesis, "dead": ", ".join(dead), "first": percent_text(cells.get((1, 1)))}
            plots.append(heat_map(cells, answers, operands, worded("dependence", **facts)))
    return plots


def length_map(seeds: Seeds) -> Plot | None:
    """Accuracy by the lengths of both operands."""
    cells = by_lengths(seeds)
    if not cells:
        return None
    rows, columns = (sorted({lengths[k] for lengths in cells}) for k in (0, 1))
    worst = min(cells, key=lambda lengths: cells[lengths])
    facts = {"rows": rows, "columns": columns, "worst": worst, "lowest": percent_text(cells[worst])}
    return heat_map(cells, rows, columns, worded("lengths", **facts))


def failure_plot(seeds: Seeds) -> Plot | None:
    """Decoded answers by kind of failure, over all runs."""
    shares = failures(seeds)
    if not shares:
        return None
    found = {way for own in shares.values() for way, share in own.items() if share}
    digits = sorted(way for way in found if isinstance(way, int))
    # Wrong digits divide the range of colours.
    every = max(1, len(digits) - 1)
    ways = {way: look for way, look in FAILURES.items() if way in found} | {
        digit: (f"first wrong at digit {digit}", DIGIT_COLOURS[k * (len(DIGIT_COLOURS) - 1) // every])
        for k, digit in enumerate(digits)
    }
    percents = {way: [own.get(way, 0.0) for own in shares.values()] for way in ways}
    right = ", ".join(f"{domain} {percent_text(own['exact'])} %" for domain, own in shares.items())
    places = list(range(len(shares)))
    return Plot(
        words=worded("failures", right=right),
        names=list(shares),
        data=[
            {"type": "bar", "name": name, "x": places, "y": _rounded(percents[way]), "marker": {"color": colour}}
            for way, (name, colour) in ways.items()
        ],
        columns=[f"{name} %" for name, _ in ways.values()],
        rows=[(domain, *map(percent_text, own)) for domain, *own in zip(shares, *percents.values(), strict=True)],
    )


# Parts of plots ------------------------------------------------------------------------------------------------


def heat_map(
    cells: Mapping[tuple[Any, Any], float], rows: Sequence[Any], columns: Sequence[Any], words: dict[str, str]
) -> Plot:
    """A heat map of percentages by row, from the top down, and column."""
    across, down = ([f"{name:,}" if isinstance(name, int) else name for name in own] for own in (columns, rows))
    means = [[cells.get((row, column)) for column in columns] for row in rows]
    table = [(name, *map(percent_text, own)) for name, own in zip(down, means, strict=True)]
    heat = [_rounded(own) for own in means]
    return Plot(words=words, columns=across, rows=table, heat=heat)


def scatter(name: str, x: Sequence[Any], y: Sequence[Any], marker: Trace, mode: str = "lines+markers") -> Trace:
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": y, "marker": marker}


def mark(k: int, size: int) -> dict[str, Any]:
    """The marker of curve k: shapes change when colours repeat."""
    symbol = SYMBOLS[(k + k // len(COLOURS)) % len(SYMBOLS)]
    return {"color": COLOURS[k % len(COLOURS)], "symbol": symbol, "size": size}


def thinned(steps: Sequence[int], most: int) -> list[int]:
    """At most `most` of the items, evenly spaced, including the first and the last.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]


def _rounded(percents: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 3) for value in percents]
