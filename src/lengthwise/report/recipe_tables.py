"""The tables of recipes on encodings, relative positions and long operands, with words on how to read them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lengthwise.report.collection import Collection
from lengthwise.report.far import FAMILIES, WORDS, far_table
from lengthwise.report.formats import TextTable
from lengthwise.report.leaderboard import (
    LEGEND,
    Leaderboard,
    board_table,
    data_table,
    leaderboard,
    table_1_by_length,
)
from lengthwise.report.relative import addition_table, jelassi_table, modular_table, products_table

Maker = Callable[[Collection], TextTable | None]


@dataclass(frozen=True)
class Part:
    """What one recipe shows."""

    title: str
    words: str
    """Two sentences: what was asked, and how to read the answer."""
    tables: dict[str, Maker]
    """By the name of their files."""
    figures: tuple[str, ...]
    data: dict[str, Maker] = field(default_factory=dict)
    """What a program reads instead, where that is another table."""


def _of_board(make: Callable[[Leaderboard], TextTable | None]) -> Maker:
    def made(collection: Collection) -> TextTable | None:
        board = leaderboard(collection.views)
        return None if board is None else make(board)

    return made


PARTS: dict[str, Part] = {
    "table1": Part(
        "Table 1 and the leaderboard of encodings",
        "Every encoding learned four tasks under one protocol, each in its natural layout, and those that see "
        f"distances in `padded` too, where the premise of Theorem 3 fails. {LEGEND}",
        {"table1": _of_board(table_1_by_length), "leaderboard": _of_board(board_table)},
        ("leaderboard",),
        {"leaderboard": _of_board(data_table)},
    ),
    "relative-addition": Part(
        "Sums upward with relative positions",
        "Trained on sums of exactly n digits; does a model fail where theory says, on carry chains longer than it "
        "ever saw, and only there? Numbers are percent over all longer lengths, chains drawn so that every length "
        "of chain occurs alike; the verdict on Theorem 3 is agreement with windowed:n+1 on every length.",
        {"relative-addition": addition_table},
        ("relative-addition", "relative-addition-chains"),
    ),
    "jelassi-5-20": Part(
        "From five digits to twenty",
        "Jelassi and others report that encoders with relative positions add twenty digits after training on "
        "five; here decoders are asked. Percent of right answers, by length; a model goes on if it is right on "
        "99 % of every longer one. A seed that has not learned has no say, and more than half must have.",
        {"jelassi-5-20": jelassi_table},
        ("jelassi-5-20",),
    ),
    "modular-relative": Part(
        "Residues with relative positions",
        "Theory says whether a model goes on to longer operands, and not what it computes if it does not, so its "
        "answers are held against truth, the last and the first digits, folded digits and windows of many sizes. "
        "The best candidate fits if every seed that has learned agrees with it on 99 % of every longer length, "
        "and more than half have.",
        {"modular-relative": modular_table},
        ("modular-relative",),
    ),
    "multiplication-relative": Part(
        "Longer products, with and without their steps",
        "The paper argues that carries and digits are alike at every position once the raw sum of a column is "
        "known, and that raw sums are the difficulty. The last columns count problems whose every raw sum, carry "
        "or answer digit is right given all that truly stands before it, one length above training.",
        {"multiplication-relative": products_table},
        ("multiplication-relative",),
    ),
}


def part_tables(recipe: str, collection: Collection) -> dict[str, TextTable]:
    """The tables that a recipe's runs fill; none for recipes that have no part here."""
    makers = PARTS[recipe].tables if recipe in PARTS else {}
    made = {name: make(collection) for name, make in makers.items()}
    return {name: table for name, table in made.items() if table is not None}


def data_of(recipe: str, name: str, collection: Collection) -> TextTable:
    """The same for programs."""
    part = PARTS[recipe]
    table = part.data.get(name, part.tables[name])(collection)
    assert table is not None, "asked for where there is one to read"
    return table


RECIPE_WORDS = {name: part.words for name, part in PARTS.items()} | dict.fromkeys(FAMILIES, WORDS)
"""How to read the tables, by recipe."""


def tables_of(recipe: str, collection: Collection) -> dict[str, TextTable]:
    """By the name of their files; none for recipes that have no table here, or no run yet."""
    if recipe in PARTS:
        return part_tables(recipe, collection)
    table = far_table(recipe, collection)
    return {} if table is None else {recipe: table}


def table_for_programs(recipe: str, name: str, collection: Collection) -> TextTable:
    """The same numbers as a program reads them."""
    return data_of(recipe, name, collection) if recipe in PARTS else tables_of(recipe, collection)[name]
