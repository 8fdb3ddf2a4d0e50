"""The tables of recipes other than the paper's, and the budget of each recipe."""

import re
from collections.abc import Callable, Iterable, Sequence
from math import isnan, nan
from statistics import fmean
from typing import Any

import polars as pl

from lengthwise.arithmetic import Domain, Task
from lengthwise.recipes import Recipe, of_rows
from lengthwise.recipes.recipe import (
    THEORY,
    Tally,
    chains_seen,
    chains_unseen,
    generalizes,
    last,
    mark,
    mark_verdict,
    others,
    tally,
)
from lengthwise.recipes.relative import has_steps, step_counts
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, combined, judge
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.queries import Point, Seeds, grouped, latest, rows_of
from lengthwise.report.tables import TextTable, short_percent, text_table
from lengthwise.report.words import positions_label
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.rules import TABLE_1_ENCODINGS

STEPS = ("sums", "carries", "answer")
PLAIN, DECODED = "random", "random, decoded"
"""Problems outside the special sets, scored in one pass or decoded."""


Maker = Callable[[Collection, Recipe], TextTable | None]
"""Makes a recipe's table from a collection of runs."""


def of_each_row(title: str, words: int = 2) -> Callable[[Callable[[Seeds], dict[str, object]]], Maker]:
    """A decorator that makes a table from a function that gives the line of one row of a recipe."""

    def maker(line: Callable[[Seeds], dict[str, object]]) -> Maker:
        def make(collection: Collection, recipe: Recipe) -> TextTable | None:
            return text_table(title, [line(seeds) for seeds in rows_of(recipe, collection).values()], words)

        return make

    return maker


@of_each_row("Sums longer than trained")
def sums_upward(seeds: Seeds) -> dict[str, object]:
    """Whether models fail where theory says, on carry chains longer than in training, and only there."""
    spec, n = seeds.first.spec, seeds.first.train.length
    return {
        "encoding": spec.positions,
        "trained on": spec.train,
        "learned": seeds.learned,
        "longer sums right": seeds.beyond(),
        "agreement with windowed:n": seeds.beyond(f"windowed:{n}"),
        "agreement with windowed:n+1": seeds.beyond(f"windowed:{n + 1}"),
        **chains_right(seeds),
        "Theorem 3": tally(map(run_verdict, seeds.views)),
        "where it fails": where_it_fails(seeds),
    }


def chains_right(seeds: Seeds) -> dict[str, Point | None]:
    return {
        "seen chains right": seeds.percent(lambda view: [chains_seen(view)]),
        "longer chains right": seeds.percent(lambda view: [chains_unseen(view)]),
    }


def where_it_fails(seeds: Seeds) -> str:
    """Where sums fail, in words, for all seeds together."""
    found = {*map(_where_it_fails, seeds.views)}
    return found.pop() if len(found) == 1 else "seeds differ: " + "; ".join(sorted(found))


def _where_it_fails(view: RunView) -> str:
    seen, unseen = chains_seen(view), chains_unseen(view)
    if seen is None or unseen is None:
        return "not measured"
    if not view.converged:
        return "not learned yet"
    known, wrong, are_right = judge(seen, True), judge(others(unseen), True), judge(unseen, True)
    if known == HOLDS:
        return {
            (HOLDS, FAILS): "where theory says, and only there",
            (FAILS, HOLDS): "nowhere: longer chains are right too",
        }.get((wrong or "", are_right or ""), "there alone, and not always")
    return "elsewhere too" if known == FAILS else "undecided"


@of_each_row("From five digits to twenty")
def five_to_twenty(seeds: Seeds) -> dict[str, object]:
    """Every fifth length, up to the longest."""
    tests = seeds.first.tests
    longest = max(domain.length for domain in tests)
    return {
        "encoding": seeds.first.spec.positions,
        "trained on": seeds.first.train,
        **by_domain(seeds, [d for d in tests if d.length % 5 == 0 or d.length == longest or longest < 10]),
        "generalizes": tally(map(generalizes, seeds.views)).counted,
    }


def by_domain(seeds: Seeds, domains: Sequence[Domain]) -> dict[str, Point | None]:
    return {str(domain): seeds.exact_match(domain) for domain in domains}


def candidates(seeds: Seeds) -> dict[str, Point]:
    """The functions that all seeds were compared with on every longer length, with their agreement, best first; of
    equals truth, then the one named first."""
    longer = seeds.first.spec.longer()
    places = [(str(domain), view.final_counts) for view in seeds.views for domain in longer]
    names = dict.fromkeys([TRUTH, *(reference for _, reference in seeds.first.final_counts)])
    full = [name for name in names if all((domain, name) in counts for domain, counts in places)]
    found = {name: point for name in full if (point := seeds.beyond(name))}
    return dict(sorted(found.items(), key=lambda item: -item[1].mean))


@of_each_row("Which function?")
def which_function(seeds: Seeds) -> dict[str, object]:
    view, found = seeds.first, candidates(seeds)
    best, agreement = next(iter(found.items()))
    return {
        "encoding": view.spec.positions,
        "modulo": modulus_words(view.task),
        "learned": seeds.learned,
        "accuracy": found.get(TRUTH),
        "agreement with truncated:n": found.get(f"truncated:{view.train.length}"),
        "best candidate": best,
        "agreement with it": agreement,
        "fits": tally(generalizes(seed, best) for seed in seeds.views).counted,
    }


def modulus_words(task: Task) -> str:
    """
    >>> modulus_words(Task.parse("add%100")), modulus_words(Task.parse("mul%100"))
    ('100', '100, products')
    """
    return f"{task.modulus}" if task.op.has_carries else f"{task.modulus}, {task.op.answers}"


@of_each_row("Longer products", words=3)
def longer_products(seeds: Seeds) -> dict[str, object]:
    """Steps are measured one digit above training, whole answers on every longer length."""
    view, tests = seeds.first, seeds.first.spec.longer()
    steps = {kind: seeds.percent(lambda view, kind=kind: [step_counts(view, kind)]) for kind in STEPS}
    return {
        "encoding": view.spec.positions,
        "written": "sums and carries" if has_steps(view) else "at once",
        "trained on": view.train,
        "learned": seeds.learned,
        **by_domain(seeds, tests),
        **{f"{kind} on {tests[0]}": right for kind, right in steps.items()},
    }


def by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """A line for each run and kind of problem: accuracy in percent, by number of digits of the longer operand."""
    views = of_rows(recipe.rows, collection.views)
    if not views:
        return None
    special = pl.when(special="").then(pl.lit(PLAIN)).otherwise("special")
    found = (
        latest(Seeds(tuple(views)).frame.filter(kind="exact", reference=TRUTH))
        .drop_nulls(["length", "share"])
        .with_columns(problems=pl.when(mode="decoded").then(pl.lit(DECODED)).otherwise(special))
    )
    kinds = dict.fromkeys([PLAIN, DECODED, *found["problems"]])
    orders = pl.col("run").cast(pl.Enum([view.name for view in views])), pl.col("problems").cast(pl.Enum([*kinds]))
    shares = found.with_columns(orders).sort("run", "problems", "length")
    table = shares.pivot("length", index=["run", "train", "problems"], values="share", sort_columns=True)
    lines = [
        {name: f"{100 * x:.4g}" if isinstance(x, float) else x for name, x in line.items()}
        for line in table.rename({"train": "trained on"}).to_dicts()
    ]
    return text_table(f"{recipe.name}: accuracy (%) by digits of the longer operand", lines, words=3)


@of_each_row("What each ingredient is worth", words=1)
def ladder(seeds: Seeds) -> dict[str, object]:
    """A change to the recipe: accuracy by length, and the lowest over all lengths and sets."""
    return {
        "change": ingredient(seeds.first),
        **by_domain(seeds, seeds.first.tests),
        "lowest": short_percent(100 * min(seeds.at_end()["share"].to_list())),
    }


def ingredient(view: RunView) -> str:
    """The change of a row of the ladder in words: its name without the recipe's."""
    return view.row.partition("-")[2].replace("-", " ")


@of_each_row("Where a carry comes from")
def carry_reading(seeds: Seeds) -> dict[str, object]:
    spec = seeds.first.spec
    return {
        "encoding": spec.positions,
        "written": "lowest digit first" if layout_facts(spec.layout).lowest_first else "highest digit first",
        "learned": seeds.learned,
        "longer sums right": seeds.beyond(),
        **chains_right(seeds),
        "follows the digit read": next_digit(seeds, "local"),
        "follows the operands": next_digit(seeds, TRUTH),
    }


def next_digit(seeds: Seeds, reference: str) -> Point | None:
    """How often the digit after a replaced one is that of the reference, over all longer lengths."""
    longer = [str(domain) for domain in seeds.first.spec.longer()]
    wanted = [("after_change", reference, domain) for domain in longer]
    return seeds.percent(lambda view: last(view, lambda r: (r.metric, r.reference, r.domain) in wanted))


def row_verdicts(collection: Collection, recipe: Recipe) -> TextTable | None:
    rows = rows_of(recipe, collection).values()
    lines = [{**_against_theory(seeds), "verdict": tally(map(run_verdict, seeds.views))} for seeds in rows]
    hold = sum(line["verdict"].holds for line in lines)
    which = "in every seed" if any(len(seeds.views) > 1 for seeds in rows) else "one seed"
    return text_table(f"{hold} of {len(rows)} hold on every length, {which}", lines, words=2)


def _against_theory(seeds: Seeds) -> dict[str, Any]:
    """How well the seeds of a row agree with theory."""
    view, longer = seeds.first, seeds.first.spec.longer()
    shorter = [d for d in view.spec.measured_domains() if d != view.train and d not in longer]
    return {
        "row": view.row,
        "task": view.task,
        "base": view.task.base,
        "trained on": view.train,
        "learned": seeds.learned,
        "shorter": seeds.exact_match(*shorter, reference=THEORY, over=min),
        "longer": seeds.beyond(THEORY, over=min),
    }


def run_verdict(view: RunView) -> str | None:
    """The verdict on a run over all lengths with a prediction: it holds if it holds on each."""
    return combined(verdict.word for verdict in view.verdicts() if verdict.word is not None)


def regularization_grid(collection: Collection, grid: Recipe, family: Recipe) -> TextTable | None:
    """The grid's runs of one family of tasks: agreement on longer lengths, and accuracy on the training domain."""
    lines: dict[float, dict[str, str]] = {}
    title = ""
    for seeds in sorted(rows_of(grid, collection).values(), key=lambda seeds: decay_and_dropout(seeds.first)):
        view, (decay, dropout) = seeds.first, decay_and_dropout(seeds.first)
        if _family(view.task) == family.name:
            both = [short_percent(own and round(own.mean, 2)) for own in (seeds.beyond(THEORY), seeds.learned)]
            line = lines.setdefault(dropout, {"dropout": f"{dropout:g}"})
            line[f"decay {decay:g}"] = "{} ({})".format(*both)
            each = "one seed each" if len(seeds.views) == 1 else f"{len(seeds.views)} seeds each"
            title = f"{view.task} trained on {view.train} for {view.config['training']['steps']} steps, {each}"
    return text_table(title, [lines[dropout] for dropout in sorted(lines)])


def _family(task: Task) -> str:
    return ("" if task.modulus is None else "modular-") + task.op.noun.lower()


def decay_and_dropout(view: RunView) -> tuple[float, float]:
    return view.config["training"]["weight_decay"], view.config["model"]["dropout"]


# The leaderboard of encodings: how each does on the tasks of Table 1 -------------------------------------------


MARKS = {True: "yes", False: "no", None: "–"}


Line = dict[str, Seeds]
"""An encoding in a layout: the seeds of each task."""


def mark_tally(seeds: Seeds) -> Tally | None:
    """The verdicts on Table 1's mark; None without a mark."""
    return None if mark(seeds.first) is None else tally(map(mark_verdict, seeds.views))


def leaderboard(views: Sequence[RunView]) -> dict[str, Line]:
    """The runs of the recipe `table1` by label of positions, best first."""
    ordered = sorted(views, key=lambda view: _task_order(str(view.task)))
    by_label = grouped(ordered, lambda view: positions_label(view.encoding, view.layout))
    lines = {label: grouped(runs.views, lambda view: str(view.task)) for label, runs in by_label.items()}
    return dict(sorted(lines.items(), key=lambda item: (-score(item[1]), item[0])))


def score(line: Line) -> float:
    """The mean over tasks of the accuracy on longer lengths."""
    return fmean(point.mean for seeds in line.values() if (point := seeds.beyond()))


def tasks(board: dict[str, Line]) -> list[str]:
    """The tasks in the paper's order: sums, products, residues."""
    return sorted({task for line in board.values() for task in line}, key=_task_order)


def _task_order(task: str) -> tuple[bool, bool, str]:
    return "%" in task, task.startswith("mul"), task


def board_table(collection: Collection, recipe: Recipe) -> TextTable | None:
    board = leaderboard(of_rows(recipe.rows, collection.views))
    lines = [
        {
            "encoding": label,
            "layout": next(iter(line.values())).first.layout,
            "longer lengths": short_percent(score(line)),
            **{column: text for task in tasks(board) for column, text in _compared(task, line.get(task))},
        }
        for label, line in board.items()
    ]
    return text_table("Encodings, best on longer lengths first", lines, words=2, data=_data(board))


def _compared(task: str, seeds: Seeds | None) -> Iterable[tuple[str, str | None]]:
    """The cells of a task: the measurement, and Table 1's mark."""
    yield task, seeds and f"{seeds.learned} / {seeds.beyond()}"
    verdict = seeds and mark_tally(seeds)
    yield f"{task}: theory", seeds and MARKS[mark(seeds.first)] + (f", {verdict.counted}" if verdict else "")


def table_1_by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """The rows of the paper's Table 1, length by length."""
    board = leaderboard(of_rows(recipe.rows, collection.views))
    # The label of an encoding in its usual layout is its name.
    lines = [
        {
            "positions": f"{family}: {encoding}",
            "task": task,
            **{str(test): f"{seeds.exact_match(test)}{dagger(seeds.first, test)}" for test in seeds.first.tests},
            **dict(zip(("Table 1", "measured", "verdict"), _words(seeds), strict=True)),
        }
        for family, encoding in TABLE_1_ENCODINGS.items()
        for task, seeds in board.get(encoding, {}).items()
    ]
    return text_table("Table 1 of the paper, measured", lines, words=2)


def dagger(view: RunView, test: Domain) -> str:
    """The mark of a trained length."""
    return "†" if any(part.length == test.length for part in view.train.parts) else ""


def _words(seeds: Seeds) -> tuple[str, str, str]:
    measured = tally(map(generalizes, seeds.views)).counted
    return MARKS[mark(seeds.first)], measured, str(mark_tally(seeds) or "–")


def _data(board: dict[str, Line]) -> TextTable | None:
    """A line for each encoding, task and length, with all digits."""
    lines = [
        {
            **{"encoding": view.encoding, "layout": view.layout, "task": task, "trained_on": view.train},
            **{"test": test, "seeds": " ".join(str(run.seed) for run in seeds.views)},
            **{name: f"{x:.6g}" for name, x in zip(("measured", "lowest", "highest"), found, strict=True)},
            **dict(zip(("theory_goes_on", "goes_on", "verdict"), _words(seeds), strict=True)),
        }
        for line in board.values()
        for task, seeds in line.items()
        for view in (seeds.first,)
        for test in view.tests
        if (found := seeds.exact_match(test))
    ]
    return text_table("Encodings by task and length", lines)


# Budgets -------------------------------------------------------------------------------------------------------


def budget_table(collection: Collection) -> TextTable | None:
    """How each recipe's models were trained, on which data, and for how long."""
    views = {view.name: view for view in collection.views}
    lines = [
        _budget(recipe, note, runs)
        for recipe, note in collection.notes.items()
        if (runs := [views[name] for name in note["runs"] if name in views])
    ]
    return text_table("Budgets", lines, words=2)


def _budget(recipe: str, note: dict[str, Any], runs: list[RunView]) -> dict[str, object]:
    training = [view.config["training"] for view in runs]
    data = [view.config["data"] for view in runs]
    return {
        "recipe": recipe,
        "optimizer": several(map(_optimizer, training)),
        "runs": len(runs),
        "steps": several(f"{t['steps']:,}" for t in training),
        "batch": several(str(t["batch"]) for t in training),
        "dropout": several(f"{view.config['model']['dropout']:g}" for view in runs),
        "decay": several(f"{t['weight_decay']:g}" for t in training),
        "samples": several(map(_samples, data)),
        "operand width": several(str(d["operand_width"] or "longest") for d in data),
        "tokens": tokens_text(runs),
        "seconds": f"{note['wall_seconds']:.0f}",
        "device": note["device"],
        "commits": several(map(_commit, runs)),
    }


def tokens_text(runs: list[RunView]) -> str:
    """All tokens that the models read in training, including padding; runs of earlier versions did not record
    it."""
    found = [view.source.costs().get("tokens", nan) for view in runs]
    return "–" if isnan(sum(found)) else f"{sum(found) / 1e6:,.0f} M"


def _samples(data: dict[str, Any]) -> str:
    """The number of samples, and how they are drawn if not uniformly."""
    count = "fresh" if data["samples"] is None else f"{data['samples']:,}"
    sampling = [] if data["sampling"] == "uniform" else [data["sampling"]]
    sparse = data["samples"] is None and data.get("sparse")
    return ", ".join([count, *sampling, *(["sparse digits"] if sparse else [])])


def _optimizer(training: dict[str, Any]) -> str:
    rates = f"{training['learning_rate']:g}"
    if training["optimizer"] == "muon":
        rates = f"{training['muon_learning_rate']:g}/{rates}"
    return f"{training['optimizer']} {rates}, {training['schedule']}"


def _commit(view: RunView) -> str:
    """The commit in seven digits, with the mark of a changed tree."""
    commit = (view.source.environment() or {}).get("commit")
    return "–" if commit is None else re.sub(r"^([0-9a-f]{7})[0-9a-f]+", r"\1", commit)


def several(values: Iterable[str]) -> str:
    """Each value once, in order."""
    return "; ".join(dict.fromkeys(values))
