"""The plots of the page: what they show in plotly's terms, words for those who cannot see them, and their numbers.

How they look (colours of a light or dark page, axes, scales) is for plots.js.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import TOLERANCE, Measured, Verdict
from lengthwise.report.collection import Question, Setting, ShownRun, group_by
from lengthwise.report.queries import (
    Cells,
    Point,
    Seeds,
    by_lengths,
    dependence_cells,
    everywhere,
    failures,
    percent_text,
    point,
    spread,
)
from lengthwise.report.tables import EXACT, percent

# Okabe and Ito: told apart by colour-blind readers. Yellow comes last, as it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
SYMBOLS = ("circle", "square", "triangle-up", "cross", "diamond", "x", "star")
GLYPHS = dict(zip((*SYMBOLS, "diamond-open"), "●■▲✚◆✖★◇", strict=True))
MOST_COLUMNS, MOST_POINTS = 24, 40
TESTED = "tested on"

FAILURES = {
    "exact": ("right", "#009E73"),
    "malformed": ("not a number", "#CC79A7"),
    "wrong_length": ("wrong number of digits", "#E69F00"),
}
# Wrong digits from the ones place up: from light to dark, so that their order shows.
DIGIT_COLOURS = ("#C9E6F6", "#9BD0EE", "#6DBBE6", "#3F9FD2", "#1C87BE", "#0072B2", "#005C90")

Trace = dict[str, Any]
Pick = Callable[[Verdict], Measured | None]
"""Which number of a verdict is shown."""
RIGHT, AGREES = attrgetter("accuracy"), attrgetter("agreement")
Curves = list[tuple[str, dict[Domain, Point]]]
"""What runs measured under a name, by test domain; without those they were not tested on."""


class Words(NamedTuple):
    title: str
    note: str
    alt: str
    """For those who cannot see it."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    words: Words
    x: str
    y: str
    data: list[Trace]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    """The numbers, as a table."""
    height: int = 400
    names: Sequence[str] = ()
    """Of the whole numbers on the x axis, from 0 on."""
    shaded: Sequence[int] = ()
    """Of these, those of training."""
    begin: float = 0
    """Percent, where the y axis begins."""
    limit: float | None = None
    """Percent, above which a prediction holds."""

    def as_json(self) -> dict[str, Any]:
        drawn = {key: value for key, value in vars(self).items() if key not in ("words", "columns", "rows")}
        return {**drawn, "table": {"columns": self.columns, "rows": self.rows}}


def setting_plots(question: Question, setting: Setting) -> list[list[Plot]]:
    """Pairs that belong side by side, measured beside theory, then the rest."""
    seeds = Seeds(tuple(run.view for run in setting.runs))
    longest = max(question.domains, key=lambda domain: domain.length)
    pairs = [training_plots(question, seeds), dependence_plots(seeds)]
    rest = [
        *(plot for pair in pairs if len(pair) == 1 for plot in pair),
        digits_at_the_end(question, seeds),
        *(digits_through_training(seeds, domain) for domain in dict.fromkeys([question.spec.train, longest])),
        failure_plot(seeds),
        length_map(seeds),
        spread_plot(question, setting),
    ]
    groups = [*(pair for pair in pairs if len(pair) > 1), [plot for plot in rest if plot is not None]]
    return [group for group in groups if group]


# By length -----------------------------------------------------------------------------------------------------


def length_plots(question: Question) -> list[Plot]:
    """How often it is right, and how often it computes what theory says, where this says something."""
    return [accuracy_plot(question), *([agreement_plot(question)] if question.predicted else [])]


def accuracy_plot(question: Question) -> Plot:
    curves = _curves(question, RIGHT)
    exact = {domain: row.accuracy for domain, row in question.predictions.items()}
    name, first = curves[0]
    texts = [f"{d} {percent_text(own.mean)} % (theory {percent(exact[d], EXACT)})" for d, own in first.items()]
    bars = "Bars: 95 % intervals (Clopper-Pearson)."
    if any(len(setting.runs) > 1 for setting in question.settings):
        bars = "Bars: from the lowest to the highest run; the 95 % interval where there is one."
    shaded = "Shaded: seen in training." if any(map(question.in_training, question.domains)) else ""
    words = Words(
        "How often is it right?",
        f"Right answers by length. {bars} {shaded}",
        f"Right answers by test domain, {name}: {', '.join(texts)}.",
    )
    return _length_plot(question, curves, words, "right answers", exact=exact)


def agreement_plot(question: Question) -> Plot:
    curves, limit = _curves(question, AGREES), 100 * (1 - TOLERANCE)
    words = Words(
        "Does it compute what theory says?",
        "Answers equal to those of the predicted function, right or wrong. "
        f"A prediction holds above the dotted line ({limit:g} %).",
        f"Agreement with the predicted function by test domain. {_lowest(curves)}",
    )
    return _length_plot(question, curves, words, "same answer as predicted", limit=limit)


def spread_plot(question: Question, setting: Setting) -> Plot | None:
    """Each run on its own, where there are several."""
    if len(setting.runs) < 2:
        return None
    pick, y = (AGREES, "agreement") if question.predicted else (RIGHT, "right answers")
    curves = [(f"seed {run.view.seed}: {run.label}", _by_domain([run], question, pick)) for run in setting.runs]
    words = Words(
        "Spread over seeds",
        f"Each run of this setting on its own: {y}, with 95 % intervals.",
        f"{y} of each of {len(setting.runs)} runs, by test domain. {_lowest(curves)}",
    )
    # So that differences show; never less than one percentage point is shown.
    begin = min(99, *(own.low for _, points in curves for own in points.values()))
    return _length_plot(question, curves, words, y, begin=begin)


def _curves(question: Question, pick: Pick) -> Curves:
    prefix = "measured, " if len(question.settings) == 1 else ""
    return [(prefix + setting.label, _by_domain(setting.runs, question, pick)) for setting in question.settings]


def _by_domain(runs: Sequence[ShownRun], question: Question, pick: Pick) -> dict[Domain, Point]:
    rows = group_by((row for run in runs for row in run.verdicts), lambda row: row.prediction.domain)
    found = {domain: list(filter(None, map(pick, rows.get(domain, ())))) for domain in question.domains}
    return {domain: point(measured) for domain, measured in found.items() if measured}


def _length_plot(
    question: Question,
    curves: Curves,
    words: Words,
    y: str,
    exact: Mapping[Domain, Fraction | None] | None = None,
    **more: Any,
) -> Plot:
    """Curves over the test domains, those of training shaded."""
    domains = question.domains
    traces = [_points_trace(domains, *curve, k, len(curves)) for k, curve in enumerate(curves)]
    table = [[f"{name} %", *(own[d].text if d in own else "–" for d in domains)] for name, own in curves]
    if exact is not None:
        table.insert(0, ["predicted %", *(percent(accuracy, EXACT) for accuracy in exact.values())])
        traces = [*([_theory_trace(exact)] if question.predicted else []), *traces]
    names = list(map(str, domains))
    columns, *rows = zip([TESTED, *names], *table, strict=True)
    shaded = [i for i, domain in enumerate(domains) if question.in_training(domain)]
    axes = {"x": TESTED, "y": y, "names": names, "shaded": shaded, "height": 380}
    return Plot(words=words, data=traces, columns=columns, rows=rows, **axes, **more)


def _points_trace(domains: Sequence[Domain], name: str, points: dict[Domain, Point], k: int, count: int) -> Trace:
    """As curve k of `count`: they stand side by side, as equal points would hide each other."""
    offset = (k - (count - 1) / 2) * min(0.12, 0.7 / count)
    own = points.values()
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [round(domains.index(domain) + offset, 3) for domain in points],
        "y": [round(one.mean, 4) for one in own],
        "error_y": {
            "array": [round(max(0, one.high - one.mean), 4) for one in own],
            "arrayminus": [round(max(0, one.mean - one.low), 4) for one in own],
        },
        "marker": mark(k, 9),
        "text": [f"{domain}: {one.text} %" for domain, one in points.items()],
    }


def _theory_trace(exact: Mapping[Domain, Fraction | None]) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "predicted by theory",
        "x": list(range(len(exact))),
        "y": [None if accuracy is None else round(float(100 * accuracy), 4) for accuracy in exact.values()],
        "line": {"width": 1.5, "dash": "dot"},
        "marker": {"symbol": "diamond-open", "size": 14},
        "text": [f"{domain}: predicted {percent(accuracy, EXACT)} %" for domain, accuracy in exact.items()],
    }


def _lowest(curves: Curves) -> str:
    """The lowest point in words, for those who cannot see the others."""
    mean, domain, name = min((own.mean, str(d), name) for name, points in curves for d, own in points.items())
    return f"The lowest is {percent_text(mean)} %, on {domain} ({name})."


# Through training, and digit by digit --------------------------------------------------------------------------


def training_plots(question: Question, seeds: Seeds) -> list[Plot]:
    """Heat maps of domain by step: how often it is right, and how often it does as predicted."""
    if everywhere(seeds.frame)["step"].n_unique() < 3:
        return []
    predicted = {str(domain): str(row.hypothesis) for domain, row in question.predictions.items()}
    found = [
        _through_training(seeds, "Right answers through training", dict.fromkeys(predicted, TRUTH)),
        _through_training(seeds, "Agreement with theory through training", predicted),
    ]
    return [plot for plot in found if plot is not None]


def _through_training(seeds: Seeds, title: str, references: Mapping[str, str]) -> Plot | None:
    found = seeds.domains_through_training(references)
    domains = [domain for domain in references if domain in found]
    if not domains:
        return None
    steps = thinned(sorted({step for own in found.values() for step in own}), MOST_COLUMNS)
    cells = {(domain, step): own.mean for domain in domains for step, own in found[domain].items()}
    note = _averaged(seeds) or "A row is a test domain, a column an evaluation."
    ends = ", ".join(f"{domain} {percent_text(cells.get((domain, steps[-1])))} %" for domain in domains)
    alt = f"{title}: {len(domains)} test domains at {len(steps)} evaluations. At the last: {ends}."
    names = ("training step", TESTED, "tested on, at step")
    return heat_map(cells, domains, steps, names, Words(title, note, alt))


def digits_at_the_end(question: Question, seeds: Seeds) -> Plot | None:
    tested = list(map(str, question.domains))
    digits = spread(seeds.at_end("digit"), "domain", "i")
    cells = {(domain, digit): own.mean for (domain, digit), own in digits.items() if domain in tested}
    if not cells:
        return None
    domains = [domain for domain in tested if any(domain == own for own, _ in cells)]
    places = sorted({digit for _, digit in cells}, reverse=True)
    worst = [min((cells[domain, k], k) for k in places if (domain, k) in cells) for domain in domains]
    low = [
        f"{name} digit {k} at {percent_text(share)} %"
        for name, (share, k) in zip(domains, worst, strict=True)
        if share < 99
    ]
    words = Words(
        "Right answers, digit by digit",
        f"After training. Digit 1 is the last one, the ones place; each digit is judged alone. {_averaged(seeds)}",
        f"Right digits, by test domain and digit. The worst: {', '.join(low) or 'all above 99 %'}.",
    )
    return heat_map(cells, domains, places, ("digit of the answer", TESTED, "tested on, digit"), words)


def digits_through_training(seeds: Seeds, domain: Domain) -> Plot | None:
    curves = seeds.digits_through_training(domain)
    steps = thinned(sorted({step for own in curves.values() for step in own}), MOST_POINTS)
    if len(steps) < 3:
        return None
    found = {digit: [own[step].mean if step in own else None for step in steps] for digit, own in curves.items()}
    ends = ", ".join(f"digit {digit} {percent_text(means[-1])} %" for digit, means in found.items())
    words = Words(
        f"Digit by digit through training, on {domain}",
        f"Which digits come first, which last? Digit 1 is the ones place. {_averaged(seeds)}",
        f"Share of right digits on {domain} against training steps, a curve per digit. At the end: {ends}.",
    )
    return Plot(
        words=words,
        x="training step",
        y="right digits",
        data=[
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": f"digit {digit}",
                "x": steps,
                "y": _rounded(means),
                "line": {"width": 2},
                "marker": mark(k, 6),
            }
            for k, (digit, means) in enumerate(found.items())
        ],
        columns=("digit, at step", *(f"{step:,}" for step in steps)),
        rows=[(str(digit), *map(percent_text, means)) for digit, means in found.items()],
    )


def _averaged(seeds: Seeds) -> str:
    return "" if len(seeds.views) == 1 else f"Mean of {len(seeds.views)} runs."


# Answers at the end --------------------------------------------------------------------------------------------


def dependence_plots(seeds: Seeds) -> list[Plot]:
    """Measured beside exact, where the records have an intervention."""
    cells = dependence_cells(seeds)
    if cells is None:
        return []
    what = "How often an answer digit changes where one digit of the first operand is replaced."
    same = f"The same, computed exactly for {cells.hypothesis}."
    found = [
        _dependence(cells.measured, "Which digits matter? Measured", what),
        _dependence(cells.exact, "Which digits matter? Theory", same),
    ]
    return [plot for plot in found if plot is not None]


def _dependence(cells: Cells, title: str, note: str) -> Plot | None:
    """The ones place stands at the right and at the bottom, as numbers are written."""
    if not cells:
        return None
    answers, operands = (sorted({place[k] for place in cells}, reverse=True) for k in (0, 1))
    dead = [str(j) for j in reversed(operands) if all(cells.get((i, j), 0.0) < 1 for i in answers)]
    without = ", ".join(dead) or "none"
    alt = (
        f"{title}: how often changing an operand digit changes an answer digit. Operand digits that change less "
        f"than 1 % of every answer digit: {without}. Digit 1 changes answer digit 1 in "
        f"{percent_text(cells.get((1, 1)))} % of problems."
    )
    note = f"{note} Operand digits that change nothing: {without}."
    names = ("digit of the operand", "digit of the answer", "answer digit, operand digit")
    return heat_map(cells, answers, operands, names, Words(title, note, alt))


def length_map(seeds: Seeds) -> Plot | None:
    """Right answers by the lengths of both operands."""
    cells = by_lengths(seeds)
    if not cells:
        return None
    rows, columns = (sorted({lengths[k] for lengths in cells}) for k in (0, 1))
    worst = min(cells, key=lambda lengths: cells[lengths])
    note = "Rows: digits of the first operand. Columns: digits of the second."
    alt = (
        f"Right answers by the lengths of both operands, {rows[0]} to {rows[-1]} by {columns[0]} to {columns[-1]} "
        f"digits. The lowest is {percent_text(cells[worst])} % at {worst[0]} by {worst[1]}."
    )
    names = ("digits of b", "digits of a", "digits of a, of b")
    return heat_map(cells, rows, columns, names, Words("Right answers by both lengths", note, alt))


def failure_plot(seeds: Seeds) -> Plot | None:
    """Decoded answers by the way they fail, all runs together."""
    shares = failures(seeds)
    if not shares:
        return None
    found = {way for own in shares.values() for way, share in own.items() if share}
    digits = sorted(way for way in found if isinstance(way, int))
    # Wrong digits share out their colours.
    every = max(1, len(digits) - 1)
    ways = {way: look for way, look in FAILURES.items() if way in found} | {
        digit: (f"first wrong at digit {digit}", DIGIT_COLOURS[k * (len(DIGIT_COLOURS) - 1) // every])
        for k, digit in enumerate(digits)
    }
    right = ", ".join(f"{domain} {percent_text(own['exact'])} %" for domain, own in shares.items())
    words = Words(
        "How answers fail",
        "Answers written token by token. A wrong one is not a number, has the wrong number of digits, or is "
        "wrong first at some digit, counted from the ones place.",
        f"Decoded answers by the way they fail. Right: {right}.",
    )
    return Plot(
        words=words,
        x=TESTED,
        y="answers",
        names=list(shares),
        data=[
            {
                "type": "bar",
                "name": name,
                "x": list(range(len(shares))),
                "y": _rounded([own.get(way, 0.0) for own in shares.values()]),
                "marker": {"color": own_colour},
            }
            for way, (name, own_colour) in ways.items()
        ],
        columns=(TESTED, *(f"{name} %" for name, _ in ways.values())),
        rows=[(domain, *(percent_text(own.get(way, 0.0)) for way in ways)) for domain, own in shares.items()],
    )


# Parts of plots ------------------------------------------------------------------------------------------------


def heat_map(
    cells: Mapping[tuple[Any, Any], float],
    rows: Sequence[Any],
    columns: Sequence[Any],
    names: tuple[str, str, str],
    words: Words,
) -> Plot:
    """Percentages by row, from the top down as in a table, and column; `names` of what is across, down, and of the
    table's corner."""
    x, y, corner = names
    across, down = ([f"{name:,}" if isinstance(name, int) else name for name in own] for own in (columns, rows))
    means = [[cells.get((row, column)) for column in columns] for row in rows]
    trace = {"type": "heatmap", "x": across, "y": down, "z": [_rounded(own) for own in means]}
    table = [(name, *map(percent_text, own)) for name, own in zip(down, means, strict=True)]
    height = 150 + 26 * max(4, len(rows))
    return Plot(words=words, x=x, y=y, data=[trace], columns=(corner, *across), rows=table, height=height)


def mark(k: int, size: int) -> dict[str, Any]:
    """Of curve k: shapes go on where colours begin again."""
    symbol = SYMBOLS[(k + k // len(COLOURS)) % len(SYMBOLS)]
    return {"color": COLOURS[k % len(COLOURS)], "symbol": symbol, "size": size}


def thinned(steps: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly, the first and the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]


def _rounded(percents: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 3) for value in percents]
