"""The tables that the runs of a recipe on encodings or on long operands fill: to read, and for programs."""

from lengthwise.report.collection import Collection
from lengthwise.report.far import FAMILIES, WORDS, far_table
from lengthwise.report.formats import TextTable
from lengthwise.report.relative_page import PARTS, data_of, part_tables

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
