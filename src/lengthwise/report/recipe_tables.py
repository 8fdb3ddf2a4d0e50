"""The tables of recipes other than the paper's, and the budget of each recipe."""

import re
from collections.abc import Callable, Iterable, Sequence
from math import isnan, nan
from statistics import fmean
from typing import Any

import polars as pl

from lengthwise.arithmetic import Domain, Task
from lengthwise.recipes import (
    THEORY,
    Recipe,
    Tally,
    chains_seen,
    chains_unseen,
    generalizes,
    last,
    mark,
    mark_verdict,
    of_rows,
    others,
    tally,
)
from lengthwise.recipes.relative import has_steps, step_counts
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, combined, judge
from lengthwise.records.view import RunView
from lengthwise.report.queries import Collection, Point, Seeds, best_first, grouped, latest, rows_of
from lengthwise.report.tables import TextTable, short_percent, text_table
from lengthwise.report.words import positions_label
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.rules import TABLE_1_ENCODINGS

PLAIN, DECODED = "random", "random, decoded"
"""Problems outside the special sets, scored in one pass or decoded."""


# Tables with a line for each row of a recipe; the catalogue lists their columns ---------------------------------


def line_table(
    collection: Collection,
    recipe: Recipe,
    *,
    title: str,
    columns: Sequence[str],
    words: int = 2,
    order: str = "name",
) -> TextTable | None:
    """A table with a line for each row of a recipe, by name or best first. The title may name the number of
    {rows}, how many {hold}, and in which {seeds}."""
    by_name = rows_of(recipe, collection)
    rows = (best_first(by_name) if order == "best first" else by_name).values()
    lines: list[dict[str, object]] = []
    for seeds in rows:
        line: dict[str, object] = {}
        for name in columns:
            found = COLUMNS[name](seeds)
            line |= found if isinstance(found, dict) else {name: found}
        lines.append(line)
    hold = sum(isinstance(cell, Tally) and cell.holds for line in lines for cell in line.values())
    which = "in every seed" if any(len(seeds.views) > 1 for seeds in rows) else "one seed"
    return text_table(title.format(hold=hold, rows=len(lines), seeds=which), lines, words)


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
    if known != HOLDS:
        return "elsewhere too" if known == FAILS else "undecided"
    if (wrong, are_right) == (HOLDS, FAILS):
        return "where theory says, and only there"
    if (wrong, are_right) == (FAILS, HOLDS):
        return "nowhere: longer chains are right too"
    return "there alone, and not always"


def by_domain(seeds: Seeds, domains: Sequence[Domain]) -> dict[str, Point | None]:
    return {str(domain): seeds.exact_match(domain) for domain in domains}


def every_fifth(view: RunView) -> list[Domain]:
    """Every fifth tested length, and the longest; every length if all are short."""
    longest = max(domain.length for domain in view.tests)
    return [d for d in view.tests if d.length % 5 == 0 or d.length == longest or longest < 10]


def shorter(view: RunView) -> list[Domain]:
    """The domains that have neither the length of the training domain nor a longer one."""
    longer = view.spec.longer()
    return [d for d in view.spec.measured_domains() if d != view.train and d not in longer]


def candidates(seeds: Seeds) -> dict[str, Point]:
    """The functions that all seeds were compared with on every longer length, with their agreement, best first; of
    equals truth, then the one named first."""
    longer = seeds.first.spec.longer()
    places = [(str(domain), view.final_counts) for view in seeds.views for domain in longer]
    names = dict.fromkeys([TRUTH, *(reference for _, reference in seeds.first.final_counts)])
    full = [name for name in names if all((domain, name) in counts for domain, counts in places)]
    found = {name: point for name in full if (point := seeds.beyond(name))}
    return dict(sorted(found.items(), key=lambda item: -item[1].mean))


def best_candidate(seeds: Seeds) -> dict[str, object]:
    best, agreement = next(iter(candidates(seeds).items()))
    fits = tally(generalizes(seed, best) for seed in seeds.views).counted
    return {"best candidate": best, "agreement with it": agreement, "fits": fits}


def steps_above_training(seeds: Seeds) -> dict[str, Point | None]:
    """The share of problems one digit above training in which all steps of a kind are right."""
    domain = seeds.first.spec.longer()[0]
    return {
        f"{kind} on {domain}": seeds.percent(lambda view, kind=kind: [step_counts(view, kind)])
        for kind in ("sums", "carries", "answer")
    }


def modulus_words(task: Task) -> str:
    """
    >>> modulus_words(Task.parse("add%100")), modulus_words(Task.parse("mul%100"))
    ('100', '100, products')
    """
    return f"{task.modulus}" if task.op.has_carries else f"{task.modulus}, {task.op.answers}"


def ingredient(view: RunView) -> str:
    """The change of a row of the ladder in words: its name without the recipe's."""
    return view.row.removeprefix("prior-").removeprefix("small-").replace("-", " ")


AT_OFFSETS = {"exact_at": "", "near_at": ", near digits alone"}
"""Measurements at several offsets, and how they are told apart."""


def shape_columns(seeds: Seeds) -> dict[str, object]:
    """The size of a model's attention, and how problems are written."""
    model = seeds.first.config["model"]
    counts = {name: model[name] for name in ("layers", "heads")}
    return {**counts, "head width": model["width"] // model["heads"], "layout": seeds.first.layout}


FOLLOWED = {"local": "the digit read", TRUTH: "the operands"}
"""By the reference that the digit after a replaced one agrees with, what it follows."""


def next_digits(seeds: Seeds) -> dict[str, dict[str, Point | None]]:
    """How often the digit after a replaced one follows what, in sums of the trained length and in longer ones."""
    places = {"trained length": [seeds.first.train], "longer": seeds.first.spec.longer()}
    return {
        place: {what: _next_digit(seeds, reference, domains) for reference, what in FOLLOWED.items()}
        for place, domains in places.items()
    }


def _next_digit(seeds: Seeds, reference: str, domains: Sequence[Domain]) -> Point | None:
    wanted = [("after_change", reference, str(domain)) for domain in domains]
    return seeds.percent(lambda view: last(view, lambda r: (r.metric, r.reference, r.domain) in wanted))


def run_verdict(view: RunView) -> str | None:
    """The verdict on a run over all lengths with a prediction: it holds if it holds on each."""
    return combined(verdict.word for verdict in view.verdicts() if verdict.word is not None)


COLUMNS: dict[str, Callable[[Seeds], object]] = {
    "row": lambda seeds: seeds.first.row,
    "task": lambda seeds: seeds.first.task,
    "base": lambda seeds: seeds.first.task.base,
    "encoding": lambda seeds: seeds.first.spec.positions,
    "modulo": lambda seeds: modulus_words(seeds.first.task),
    "trained on": lambda seeds: seeds.first.train,
    "change": lambda seeds: ingredient(seeds.first),
    "steps": lambda seeds: {"written": "sums and carries" if has_steps(seeds.first) else "at once"},
    "order": lambda seeds: {
        "written": f"{'lowest' if layout_facts(seeds.first.layout).lowest_first else 'highest'} digit first"
    },
    "shape": shape_columns,
    "learned": lambda seeds: seeds.learned,
    "every length": lambda seeds: by_domain(seeds, seeds.first.tests),
    "every fifth length": lambda seeds: by_domain(seeds, every_fifth(seeds.first)),
    "at every offset": lambda seeds: {
        f"D{n}{words}": point for kind, words in AT_OFFSETS.items() for n, point in seeds.by_length(kind).items()
    },
    "longer lengths": lambda seeds: by_domain(seeds, seeds.first.spec.longer()),
    "lowest": lambda seeds: short_percent(100 * min(seeds.at_end()["share"].to_list())),
    "accuracy": lambda seeds: candidates(seeds).get(TRUTH),
    "longer sums right": lambda seeds: seeds.beyond(),
    "agreement with truncated:n": lambda seeds: candidates(seeds).get(f"truncated:{seeds.first.train.length}"),
    "agreement with windowed:n": lambda seeds: seeds.beyond(f"windowed:{seeds.first.train.length}"),
    "agreement with windowed:n+1": lambda seeds: seeds.beyond(f"windowed:{seeds.first.train.length + 1}"),
    "best candidate": best_candidate,
    "seen chains right": lambda seeds: seeds.percent(lambda view: [chains_seen(view)]),
    "longer chains right": lambda seeds: seeds.percent(lambda view: [chains_unseen(view)]),
    "where it fails": where_it_fails,
    "next digit": lambda seeds: {
        f"{place}: follows {what}": point
        for place, points in next_digits(seeds).items()
        for what, point in points.items()
    },
    "steps above training": steps_above_training,
    "generalizes": lambda seeds: tally(map(generalizes, seeds.views)).counted,
    "shorter": lambda seeds: seeds.exact_match(*shorter(seeds.first), reference=THEORY, over=min),
    "longer": lambda seeds: seeds.beyond(THEORY, over=min),
    "verdict": lambda seeds: tally(map(run_verdict, seeds.views)),
    "Theorem 3": lambda seeds: tally(map(run_verdict, seeds.views)),
}
"""The cell of a row in each column, or the cells of several columns by their headings."""


# Other tables of recipes ---------------------------------------------------------------------------------------


def by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """A line for each run and kind of problem: accuracy in percent, by number of digits of the longer operand."""
    if not (views := of_rows(recipe.rows, collection.views)):
        return None
    found = _accuracies(views).rename({"train": "trained on"})
    table = found.pivot("length", index=["run", "trained on", "problems"], values="share", sort_columns=True)
    return text_table(f"{recipe.name}: accuracy (%) by digits of the longer operand", _in_percent(table), words=3)


def lowest_by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """A line for each kind of problem: the lowest accuracy of all runs, every hundred digits, at the longest,
    and at any length."""
    if not (views := of_rows(recipe.rows, collection.views)):
        return None
    lowest = pl.col("share").min()
    found = _accuracies(views).group_by("problems", "length", maintain_order=True).agg(lowest)
    shown = found.filter((pl.col("length") % 100 == 0) | (pl.col("length") == pl.col("length").max()))
    table = shown.pivot("length", index="problems", values="share", sort_columns=True)
    table = table.join(found.group_by("problems").agg(lowest.alias("any")), on="problems", maintain_order="left")
    title = f"{recipe.name}: lowest accuracy (%) of {len(views)} seeds by digits of the longer operand"
    return text_table(title, _in_percent(table), words=1)


def _accuracies(views: Sequence[RunView]) -> pl.DataFrame:
    """The share of right answers of each run, by kind of problem and length, in that order."""
    special = pl.when(special="").then(pl.lit(PLAIN)).otherwise("special")
    found = (
        latest(Seeds(tuple(views)).frame.filter(kind="exact", reference=TRUTH))
        .drop_nulls(["length", "share"])
        .with_columns(problems=pl.when(mode="decoded").then(pl.lit(DECODED)).otherwise(special))
    )
    kinds = dict.fromkeys([PLAIN, DECODED, *found["problems"]])
    orders = pl.col("run").cast(pl.Enum([view.name for view in views])), pl.col("problems").cast(pl.Enum([*kinds]))
    return found.with_columns(orders).sort("run", "problems", "length")


def _in_percent(table: pl.DataFrame) -> list[dict[str, object]]:
    return [
        {name: f"{100 * x:.4g}" if isinstance(x, float) else x for name, x in line.items()}
        for line in table.to_dicts()
    ]


def regularization_grid(collection: Collection, grid: Recipe, family: Recipe) -> TextTable | None:
    """The grid's runs of one family of tasks: agreement on longer lengths, and accuracy on the training domain."""
    lines: dict[float, dict[str, str]] = {}
    title = ""
    for seeds in sorted(rows_of(grid, collection).values(), key=lambda seeds: decay_and_dropout(seeds.first)):
        view, (decay, dropout) = seeds.first, decay_and_dropout(seeds.first)
        modular = "" if view.task.modulus is None else "modular-"
        if modular + view.task.op.noun.lower() == family.name:
            both = [short_percent(own and round(own.mean, 2)) for own in (seeds.beyond(THEORY), seeds.learned)]
            line = lines.setdefault(dropout, {"dropout": f"{dropout:g}"})
            line[f"decay {decay:g}"] = "{} ({})".format(*both)
            each = "one seed each" if len(seeds.views) == 1 else f"{len(seeds.views)} seeds each"
            title = f"{view.task} trained on {view.train} for {view.config['training']['steps']} steps, {each}"
    return text_table(title, [lines[dropout] for dropout in sorted(lines)])


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
    lines: list[dict[str, str | None]] = []
    for label, line in board.items():
        layout, longer = next(iter(line.values())).first.layout, short_percent(score(line))
        cells: dict[str, str | None] = {"encoding": label, "layout": layout, "longer lengths": longer}
        for task in tasks(board):
            seeds = line.get(task)
            verdict = seeds and mark_tally(seeds)
            counted = f", {verdict.counted}" if verdict else ""
            cells[task] = seeds and f"{seeds.learned} / {seeds.beyond()}"
            cells[f"{task}: theory"] = seeds and MARKS[mark(seeds.first)] + counted
        lines.append(cells)
    return text_table("Encodings, best on longer lengths first", lines, words=2, data=_data(board))


def table_1_by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """The rows of the paper's Table 1, length by length."""
    board = leaderboard(of_rows(recipe.rows, collection.views))
    lines: list[dict[str, str]] = []
    # The label of an encoding in its usual layout is its name.
    for family, encoding in TABLE_1_ENCODINGS.items():
        for task, seeds in board.get(encoding, {}).items():
            line = {"positions": f"{family}: {encoding}", "task": task}
            for test in seeds.first.tests:
                trained = seeds.first.spec.case(test).in_distribution
                line[str(test)] = f"{seeds.exact_match(test)}{'†' if trained else ''}"
            lines.append(line | dict(zip(("Table 1", "measured", "verdict"), _words(seeds), strict=True)))
    return text_table("Table 1 of the paper, measured", lines, words=2)


def _words(seeds: Seeds) -> tuple[str, str, str]:
    measured = tally(map(generalizes, seeds.views)).counted
    return MARKS[mark(seeds.first)], measured, str(mark_tally(seeds) or "–")


def _data(board: dict[str, Line]) -> TextTable | None:
    """A line for each encoding, task and length, with all digits."""
    lines: list[dict[str, object]] = []
    for task, seeds in (item for line in board.values() for item in line.items()):
        view, runs = seeds.first, " ".join(str(run.seed) for run in seeds.views)
        verdicts = dict(zip(("theory_goes_on", "goes_on", "verdict"), _words(seeds), strict=True))
        place: dict[str, object] = {"encoding": view.encoding, "layout": view.layout, "task": task}
        place["trained_on"] = view.train
        for test in view.tests:
            if found := seeds.exact_match(test):
                measured = {"measured": found.mean, "lowest": found.low, "highest": found.high}
                numbers = {name: f"{x:.6g}" for name, x in measured.items()}
                lines.append({**place, "test": test, "seeds": runs, **numbers, **verdicts})
    return text_table("Encodings by task and length", lines)


# Budgets -------------------------------------------------------------------------------------------------------


def budget_table(collection: Collection) -> TextTable | None:
    """How each recipe's models were trained, on which data, and for how long."""
    views = {view.name: view for view in collection.views}
    lines: list[dict[str, object]] = []
    for recipe, note in collection.notes.items():
        runs = [views[name] for name in note["runs"] if name in views]
        if not runs:
            continue
        training = [view.config["training"] for view in runs]
        data = [view.config["data"] for view in runs]
        line: dict[str, object] = {
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
        lines.append(line)
    return text_table("Budgets", lines, words=2)


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
