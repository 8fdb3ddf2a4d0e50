"""The verdicts at the top: tables of settings by test domain, all seeds of one together."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from lengthwise.arithmetic import Domain
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Verdict
from lengthwise.report.page.figure import DataTable, shown
from lengthwise.report.page.points import Point
from lengthwise.report.page.questions import NO_PREDICTION, Question, Setting
from lengthwise.report.page.runs import ShownRun
from lengthwise.report.tables import percent
from lengthwise.report.words import family_words, joined_domains

SEEDS_DIFFER = "seeds differ"
SIGNS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?", SEEDS_DIFFER: "≠", NO_PREDICTION: "–"}
CLASSES = {
    HOLDS: "holds",
    FAILS: "fails",
    UNDECIDED: "undecided",
    SEEDS_DIFFER: "undecided",
    NO_PREDICTION: "open",
}


@dataclass(frozen=True)
class Cell:
    word: str
    predicted: str
    measured: str
    reach: str | None
    """From the lowest to the highest of seeds that differ."""
    agreement: str | None

    @property
    def sign(self) -> str:
        return SIGNS[self.word]

    @property
    def css(self) -> str:
        return CLASSES[self.word]


@dataclass(frozen=True)
class VerdictRow:
    question: Question
    setting: Setting
    """Of the question's, with the runs of this row alone."""
    cells: tuple[Cell, ...]

    @property
    def only_run(self) -> ShownRun | None:
        return self.setting.runs[0] if len(self.setting.runs) == 1 else None


@dataclass(frozen=True)
class VerdictTable:
    """Settings of one family of tasks that were tested on the same domains."""

    title: str
    domains: tuple[str, ...]
    rows: tuple[VerdictRow, ...]


def verdict_tables(questions: Sequence[Question]) -> list[VerdictTable]:
    groups: dict[tuple[str, tuple[Domain, ...]], list[VerdictRow]] = {}
    for question in questions:
        for setting in question.settings:
            for runs in _comparable(setting.runs):
                cells = tuple(map(verdict_cell, zip(*(run.verdicts for run in runs), strict=True)))
                key = family_words(question.task), _domains(runs[0])
                row = VerdictRow(question, Setting(tuple(runs), setting.name), cells)
                groups.setdefault(key, []).append(row)
    return [
        VerdictTable(f"{words}, tested on {joined_domains(domains)}", tuple(map(str, domains)), tuple(rows))
        for (words, domains), rows in groups.items()
    ]


def _comparable(runs: Sequence[ShownRun]) -> list[list[ShownRun]]:
    """Those tested on the same domains; a run that is not finished stands alone."""
    groups: dict[tuple[tuple[Domain, ...], str], list[ShownRun]] = {}
    for run in runs:
        groups.setdefault((_domains(run), run.label if run.standing else ""), []).append(run)
    return list(groups.values())


def _domains(run: ShownRun) -> tuple[Domain, ...]:
    return tuple(row.prediction.domain for row in run.verdicts)


def verdict_cell(seeds: Sequence[Verdict]) -> Cell:
    """One test domain: the mean of seeds, and the lowest and highest."""
    shares = [row.accuracy.share for row in seeds]
    words = {row.word or NO_PREDICTION for row in seeds}
    agreements = [row.agreement.share for row in seeds if row.agreement is not None]
    return Cell(
        word=words.pop() if len(words) == 1 else SEEDS_DIFFER,
        predicted=percent(seeds[0].expected),
        measured=shown(fmean(shares)),
        reach=None if min(shares) == max(shares) else f"{shown(min(shares))} to {shown(max(shares))}",
        agreement=_spread(agreements) if agreements else None,
    )


def _spread(shares: Sequence[float]) -> str:
    return Point(fmean(shares), min(shares), max(shares)).text


def full_table(run: ShownRun) -> DataTable:
    """Every number behind the verdicts of a run."""
    columns = (
        "tested on",
        "should compute",
        "predicted %",
        "on these %",
        "measured %",
        "agreement %",
        "problems",
        "verdict",
    )
    return DataTable(columns, [_full_row(row) for row in run.verdicts])


def _full_row(row: Verdict) -> tuple[str, ...]:
    cell = verdict_cell([row])
    return (
        str(row.prediction.domain),
        "–" if row.prediction.hypothesis is None else str(row.prediction.hypothesis),
        cell.predicted,
        "–" if row.coincides is None else shown(row.coincides.share),
        cell.measured,
        cell.agreement or "–",
        f"{row.accuracy.total:,}" + (", all" if row.accuracy.enumerated else ""),
        f"{cell.sign} {cell.word}",
    )
