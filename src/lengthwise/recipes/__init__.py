"""Recipes, the named experiments: each has its rows, and the tables, figures and claims made from its runs. And
what rows share: scale, tuning, and small models for a laptop.

A run belongs to a recipe by its row, ROW-sSEED. The texts of a recipe, the functions of the report that make its
tables and figures, and the functions here that decide its theorems and claims are in catalogue.toml. They are
imported when needed, so that recipes import no torch, no matplotlib and no polars. For a claim every run is judged
separately, and a row's verdict counts its seeds.

>>> str(Tally((HOLDS, FAILS, HOLDS))), str(Tally((HOLDS, UNDECIDED)))
('holds in 2 of 3 seeds', 'holds in 1 of 2 seeds, 1 undecided')
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pkgutil import resolve_name
from typing import Any, TypeVar

from lengthwise import theory
from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError, unknown
from lengthwise.recipes.configure import PRESETS, Rows, fast, muon
from lengthwise.recipes.configure import configure as configure
from lengthwise.recipes.configure import find_preset as preset
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Measured, combined, judge, measured
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig
from lengthwise.theory.predict import find_rule

T = TypeVar("T")

SCALES = ("full", "laptop")
OPERAND_WIDTH = 10
CHECKPOINT_EVERY = 2_500
TUNING_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The scale of a recipe, and the preset of its hyperparameters."""

    scale: str = "full"
    preset: str = "fast"

    def __post_init__(self) -> None:
        for kind, value, allowed in (("scale", self.scale, SCALES), ("preset", self.preset, PRESETS)):
            if value not in allowed:
                raise unknown(kind, value, allowed)
        if self.laptop and self.preset != "fast":
            raise InputError(f"scale 'laptop' requires preset fast, not {self.preset!r}")

    @property
    def laptop(self) -> bool:
        return self.scale == "laptop"

    def pick(self, full: T, laptop: T) -> T:
        """The value for this scale."""
        return laptop if self.laptop else full


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Hyperparameters of experiments other than the paper's tables, tuned on seed 0. Rows of equal steps and batch
    train as a stack."""

    steps: int
    batch: int = 256
    dropout: float = 0.1
    decay: float = 0.05
    rate: float = 1e-3
    position_std: float | None = None
    sampling: str | None = None
    """None for the config's own."""
    evaluate_every: int = 500

    def applied(self, config: RunConfig) -> RunConfig:
        return config.changed(
            model={"dropout": self.dropout, "position_std": self.position_std},
            data={"sampling": self.sampling or config.data.sampling},
            training={
                "steps": self.steps,
                "batch": self.batch,
                "weight_decay": self.decay,
                "learning_rate": self.rate,
                "evaluate_every": self.evaluate_every,
                "checkpoint_every": CHECKPOINT_EVERY,
            },
        )


def paper_run(
    setting: Setting,
    task: str,
    train: str,
    test: str,
    tuning: Tuning | None = None,
    *,
    size: str = "mini",
    answer_width: int | None = None,
) -> RunConfig:
    """A run with the paper's training domain and model size, from the setting's preset; a `tuning` replaces the
    preset `fast`. At laptop scale only the question is the paper's."""
    if setting.laptop:
        return small(task, train, test) if tuning is None else small_tuned(task, train, test)
    start = preset(setting.preset, task, size)
    if setting.preset != "paper":
        start = start if tuning is None else tuning.applied(muon(task, size))
        start = start.changed(data={"operand_width": OPERAND_WIDTH})
    return start.changed(train=train, test=test, data={"answer_width": answer_width})


# Changes to the preset `fast` at laptop scale, where a small model needs few problems: batch, curriculum,
# cool-down and the time between evaluations are smaller. A larger base, with more digits to distinguish, helps a
# model to ignore unseen digits. With NanoGPT's three heads at a rate of 1e-3, sums modulo 35 are not learned well
# enough in that time; at 4e-3, wider models ignored unseen digits less well.
SMALL_SUMS: dict[str, Any] = {
    "base": 6,
    "model": {"heads": 6},
    "data": {"sparse_problems": 20_000},
    "training": {
        "steps": 2_000,
        "batch": 32,
        "cooldown": 900,
        "learning_rate": 2e-3,
        "evaluate_every": 100,
        "checkpoint_every": 1_000,
    },
    "evaluation": {"problems": 2_000, "interim_problems": 300},
}


def small(task: str, train: str, test: str = "D1..3") -> RunConfig:
    """A run that learns operands of up to two digits in a minute, tested on up to three.

    Products have their own tuning: with the preset they learn their domain in 1,200 steps, but not every seed
    ignores unseen digits (docs/log.md).
    """
    if task.startswith("mul"):
        return small_tuned(task, train, test)
    return fast(task, "nano").changed(train=train, test=test, **SMALL_SUMS)


# The same for products, and for experiments that have their own tuning at full scale too.
TUNED_SUMS: dict[str, Any] = {
    "base": 6,
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 0.5, "position_std": 1.5},
    "training": {"steps": 2_400, "batch": 32, "learning_rate": 3e-3, "weight_decay": 0.3},
}
TUNED_PRODUCTS: dict[str, Any] = {
    "base": 4,
    "model": {"layers": 2, "heads": 16, "width": 64, "embedding_std": 1.0, "position_std": 4.0},
    "training": {"steps": 1_800, "batch": 64, "learning_rate": 8e-3, "weight_decay": 0.3},
}
# With relative positions no digits need to be ignored, so there is no dropout. The preset does not work for them:
# with it, and without dropout, accuracy on the demo's three-digit sums was 7 and 11 % (seeds 0, 2), with this 92 %
# (seed 1).
SMALL_RELATIVE: dict[str, Any] = {"heads": 4, "dropout": 0.0, "normalized_attention": True}


def small_tuned(task: str, train: str, test: str = "D1..3") -> RunConfig:
    start = muon(task, "nano").changed(
        train=train,
        test=test,
        evaluation={"problems": 2_000, "interim_problems": 500},
        training={"evaluate_every": 500, "checkpoint_every": 1_000},
    )
    return start.changed(**(TUNED_PRODUCTS if task.startswith("mul") else TUNED_SUMS))


# --- recipes --------------------------------------------------------------------------------------------------

Words = list[str | None]
"""The verdicts of a run on a claim, one for each domain or count; empty if the claim is not about the run."""
RowsOf = Callable[[Setting], Rows]
Claims = Mapping[str, Mapping[str, Any]]
"""By source, the text of a claim and the function that decides it."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    name: str
    """The name of its files, results/figures/NAME.svg."""
    title: str
    caption: str
    """What is drawn and what to see in it, for a reader who has not read the paper."""
    alt: str
    """A description for screen readers."""
    drawn_by: str
    """The function of report/figures that draws it, such as `lengths.counterexample`."""
    of: str
    """The recipe whose rows it shows."""
    recipe: str
    """The recipe it belongs to."""


@dataclass(frozen=True)
class Recipe:
    name: str
    rows: RowsOf
    seeds: Sequence[int] = (1,)
    """Default seeds at full scale; at laptop scale, the first. Lower ones were used in tuning."""
    purpose: str = ""
    title: str = ""
    """The title of its part of docs/results.md."""
    words: str = ""
    """The text about its tables there."""
    section: str | None = None
    """The section of that page with its tables."""
    tables: Mapping[str, str] = field(default_factory=dict[str, str])
    """By file name, a table that the catalogue lists, or the function of report that makes it, such as
    `recipe_tables.by_length`."""
    theorems: Claims = field(default_factory=dict[str, dict[str, Any]])
    claims: Claims = field(default_factory=dict[str, dict[str, Any]])
    without: Sequence[tuple[str, str]] = ()
    """Cells of its tables (row and test domain) that a second figure for the deviation leaves out."""

    @property
    def figures(self) -> list[Figure]:
        return [figure for figure in FIGURES.values() if figure.recipe == self.name]

    def usual_seeds(self, setting: Setting) -> int:
        return 1 if setting.laptop else len(self.seeds)

    def runs(self, setting: Setting, seeds: int, only: Sequence[str] = ()) -> Rows:
        """Every row with `seeds` seeds, counted from the first; 0 means only the tuning seed."""
        rows = self.rows(setting)
        for name in only:
            if name not in rows:
                raise InputError(f"recipe {self.name!r} has no row {name!r} (choose from {', '.join(rows)})")
        first = self.seeds[0]
        numbers = range(first, first + seeds) if seeds else (TUNING_SEED,)
        return {f"{name}-s{seed}": rows[name].changed(seed=seed) for name in only or rows for seed in numbers}


@cache
def catalogue() -> dict[str, Any]:
    return tomllib.loads(files("lengthwise.recipes").joinpath("catalogue.toml").read_text())


@cache
def row_names(rows: RowsOf) -> frozenset[str]:
    """The names of rows at all scales."""
    return frozenset(name for scale in SCALES for name in rows(Setting(scale=scale)))


def of_rows(rows: RowsOf, runs: Iterable[RunView]) -> list[RunView]:
    """The runs of these rows, in order."""
    names = row_names(rows)
    return [run for run in runs if run.row in names]


# --- claims ---------------------------------------------------------------------------------------------------

OPPOSITE = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}


@dataclass(frozen=True)
class Tally:
    """The verdicts of a row's seeds, in order."""

    words: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether it holds in every seed."""
        return {*self.words} == {HOLDS}

    @property
    def refuted(self) -> bool:
        """Whether it fails in some seed and holds in none."""
        return FAILS in self.words and HOLDS not in self.words

    @property
    def counted(self) -> str:
        """In how many seeds it holds, and how many are undecided."""
        seeds = f"{self.words.count(HOLDS)} of {len(self.words)} seed{'' if len(self.words) == 1 else 's'}"
        undecided = self.words.count(UNDECIDED)
        return f"{seeds}, {undecided} undecided" if undecided else seeds

    def __str__(self) -> str:
        return f"holds in {self.counted}"


def tally(words: Iterable[str | None]) -> Tally:
    """The tally of one verdict per seed; a seed without a prediction counts as undecided."""
    return Tally(tuple(word or UNDECIDED for word in words))


def as_predicted(run: RunView) -> Words:
    """Whether the run computes the predicted function, on every length that a theorem covers."""
    return [verdict.word for verdict in run.verdicts() if verdict.prediction.within_theorem]


def residues_as_predicted(run: RunView, operation: str, divides: bool) -> Words:
    """The same for runs of an operation whose modulus divides a power of the base, or for those where it does
    not."""
    wanted = modulus_divides(run) == divides and run.task.operation == operation
    return as_predicted(run) if wanted else []


def modulus_divides(run: RunView) -> bool:
    """Whether the modulus divides base^n, where n is the longest trained length."""
    return theory.modulus_divides(run.task, run.train.length)


THEORY = "theory"
"""A reference that stands for the function predicted on each domain."""


def compared(run: RunView, domains: Iterable[Domain], reference: str = TRUTH) -> list[Measured]:
    """Exact match after training on these domains, without those that were not compared with the reference."""
    predicted = run.spec.predicted_hypothesis
    places = [(str(d), str(predicted(d)) if reference == THEORY else reference) for d in domains]
    return [run.final_counts[place] for place in places if place in run.final_counts]


def generalizes(run: RunView, reference: str = TRUTH) -> str:
    """Whether agreement with truth, or with another reference, is 99 % or more on every longer length."""
    found = compared(run, run.spec.longer(), reference)
    return combined(judge(counts, run.converged) for counts in found) or UNDECIDED


def mark(run: RunView) -> bool | None:
    """Table 1's mark: whether theory says that the run generalizes to longer operands."""
    return find_rule(run.spec.case(_longest(run))).generalizes


def mark_verdict(run: RunView) -> str | None:
    """The verdict on Table 1's mark; None without a mark.

    That a run does not generalize is no evidence by itself: where theory predicts a function, agreement with that
    decides.
    """
    predicted = run.spec.predicted_hypothesis(_longest(run))
    if mark(run) is None:
        return None
    if mark(run):
        return generalizes(run)
    return OPPOSITE[generalizes(run)] if predicted is None else generalizes(run, str(predicted))


def _longest(run: RunView) -> Domain:
    return max(run.tests, key=lambda domain: domain.length)


def chains(run: RunView, wanted: Iterable[int]) -> Measured | None:
    """Counts of right answers to longer problems whose longest carry chain is one of these, over all lengths."""
    names, domains = {f"chain:{k}" for k in wanted}, {str(domain) for domain in run.spec.longer()}
    found = last(run, lambda r: r.metric in names and r.domain in domains and r.reference == TRUTH)
    return Measured(sum(c.correct for c in found), sum(c.total for c in found), False) if found else None


def chains_seen(run: RunView) -> Measured | None:
    """The counts for chains of up to n columns, as in training."""
    return chains(run, range(run.train.length + 1))


def chains_unseen(run: RunView) -> Measured | None:
    return chains(run, range(run.train.length + 1, _longest(run).length + 1))


def others(counts: Measured | None) -> Measured | None:
    """The complementary counts: of wrong answers instead of right ones."""
    if counts is None:
        return None
    return Measured(counts.total - counts.correct, counts.total, counts.enumerated)


def last(run: RunView, wanted: Callable[[Record], bool]) -> list[Measured]:
    """The counts of the wanted records of the last evaluation."""
    return [measured(record) for record in run.at(run.last_step) if wanted(record)]


# --- all recipes and figures ----------------------------------------------------------------------------------


def _figures() -> Iterator[Figure]:
    for entry in catalogue()["figures"]:
        for of, words in entry["of"].items():
            texts = {key: entry[key].format(recipe=of, words=words) for key in ("name", "title", "caption", "alt")}
            yield Figure(**texts, drawn_by=entry["drawn_by"], of=of, recipe=entry.get("recipe", of))


FIGURES = {figure.name: figure for figure in _figures()}


def _made(name: str, *, rows: str, purpose: str, **more: Any) -> Recipe:
    """A recipe from its entry in the catalogue."""
    more.setdefault("title", f"`{name}`: {purpose}")
    return Recipe(name, resolve_name(f"{__name__}.{rows}"), purpose=purpose, **more)


RECIPES = {name: _made(name, **entry) for name, entry in catalogue()["recipes"].items()}


def find_recipes(name: str) -> list[Recipe]:
    """The recipe of this name, or all recipes for `all`."""
    if name == "all":
        return list(RECIPES.values())
    if name not in RECIPES:
        raise unknown("recipe", name, ["all", *RECIPES])
    return [RECIPES[name]]
