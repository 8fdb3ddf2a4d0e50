"""The verdicts at the top: counts, and tables of runs by test domain."""

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Verdict
from lengthwise.report.page.figure import DataTable, shown
from lengthwise.report.page.questions import NO_PREDICTION, Question, Setting
from lengthwise.report.page.runs import ShownRun
from lengthwise.report.page.words import family_words, joined_domains
from lengthwise.report.tables import percent

SIGNS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?", NO_PREDICTION: "–"}
CLASSES = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided", NO_PREDICTION: "open"}


@dataclass(frozen=True)
class Cell:
    word: str
    predicted: str
    measured: str
    agreement: str | None

    @property
    def sign(self) -> str:
        return SIGNS[self.word]

    @property
    def css(self) -> str:
        return CLASSES[self.word]


@dataclass(frozen=True)
class RunRow:
    question: Question
    setting: Setting
    run: ShownRun
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class VerdictTable:
    """Runs of one family of tasks that were tested on the same domains."""

    title: str
    domains: tuple[str, ...]
    rows: tuple[RunRow, ...]


def verdict_tables(questions: Sequence[Question]) -> list[VerdictTable]:
    groups: dict[tuple[str, tuple[str, ...]], list[RunRow]] = {}
    titles: dict[tuple[str, tuple[str, ...]], str] = {}
    for question in questions:
        for setting in question.settings:
            for run in setting.runs:
                domains = [row.prediction.domain for row in run.verdicts]
                key = family_words(question.task), tuple(map(str, domains))
                titles[key] = f"{key[0]}, tested on {joined_domains(domains)}"
                cells = tuple(map(verdict_cell, run.verdicts))
                groups.setdefault(key, []).append(RunRow(question, setting, run, cells))
    return [VerdictTable(titles[key], key[1], tuple(rows)) for key, rows in groups.items()]


def verdict_cell(row: Verdict) -> Cell:
    return Cell(
        word=row.word or NO_PREDICTION,
        predicted=percent(row.expected),
        measured=shown(row.accuracy.share),
        agreement=None if row.agreement is None else shown(row.agreement.share),
    )


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
    cell = verdict_cell(row)
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
