"""Records as polars frames: in Parquet files, and joined with the setting of their runs, for tables and
figures."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl
from pydantic import TypeAdapter

from lengthwise.errors import InputError
from lengthwise.records.folder import PackedRun
from lengthwise.records.schema import TRAIN_LOSS, Record
from lengthwise.records.view import RunView

NUMBERS = {
    **dict.fromkeys(("seed", "step", "base", "correct", "total"), pl.Int64),
    **dict.fromkeys(("value", "seen"), pl.Float64),
}
"""Columns of numbers; all others are text."""
RECORD_COLUMNS = {column: NUMBERS.get(column, pl.String) for column in Record.model_fields}

FOLDER = "folder"
"""The name of the run folder; a record's `run` is the name that the folder had when it was measured."""

_RECORDS = TypeAdapter(list[Record])


_NAMED, _ASKED = ("run", "recipe", "row", "seed"), ("task", "base", "train", "encoding", "layout", "positions")
RUN_COLUMNS = {column: NUMBERS.get(column, pl.String) for column in (*_NAMED, *_ASKED, "question")}
MEASURED_COLUMNS = {column: kind for column, kind in RECORD_COLUMNS.items() if column not in RUN_COLUMNS}
_EMPTY = pl.DataFrame(schema={**RUN_COLUMNS, **MEASURED_COLUMNS, "last": pl.Boolean, "share": pl.Float64})


def records_frame(views: Iterable[RunView], recipes: Mapping[str, str] | None = None) -> pl.DataFrame:
    """All records of some runs, each with the setting of its run; `recipes` has the recipe of a run by its name.

    column             | of each record
    -------------------|------------------------------------------------------------------------------------
    run, recipe, row   | its run folder, the recipe that made it, and the name that all seeds of a row share
    question           | equal for runs that differ only in their seed
    task to positions  | the setting of the run
    step to seen       | as in records.jsonl
    last               | whether it belongs to the run's last evaluation
    share              | correct / total; null for measurements that are not counts
    """
    return pl.concat([_EMPTY, *(_with_run(view, (recipes or {}).get(view.name)) for view in views)])


def _with_run(view: RunView, recipe: str | None) -> pl.DataFrame:
    spec, records = view.spec, _records(view)
    named = (view.name, recipe, view.row, spec.seed)
    asked = (str(spec.task), spec.task.base, str(spec.train), spec.encoding, spec.layout, spec.positions)
    values = dict(zip(RUN_COLUMNS, (*named, *asked, spec.question), strict=True))
    evaluated = pl.col("step").filter(pl.col("metric") != TRAIN_LOSS)
    return records.select(
        *(pl.lit(values[column], dtype).alias(column) for column, dtype in RUN_COLUMNS.items()),
        *MEASURED_COLUMNS,
        (pl.col("step") == evaluated.max()).alias("last"),
        (pl.col("correct") / pl.col("total")).alias("share"),
    )


def _records(view: RunView) -> pl.DataFrame:
    if isinstance(view.source, PackedRun):
        return _stored_frame(view.source.path.parent.with_suffix(".parquet"), view.name)
    return plain_frame(view.records)


def plain_frame(records: Sequence[Record]) -> pl.DataFrame:
    """Records as a frame, one column per field."""
    columns = {column: [getattr(record, column) for record in records] for column in RECORD_COLUMNS}
    return pl.DataFrame(columns, schema=RECORD_COLUMNS)


def stored_records(path: Path, folder: str) -> list[Record]:
    return _RECORDS.validate_python(_stored_frame(path, folder).to_dicts())


def _stored_frame(path: Path, folder: str) -> pl.DataFrame:
    found = _stored(path, path.stat().st_mtime_ns).get((folder,))
    return pl.DataFrame(schema=RECORD_COLUMNS) if found is None else found.select(*RECORD_COLUMNS)


@lru_cache(maxsize=8)
def _stored(path: Path, changed: int) -> dict[tuple[object, ...], pl.DataFrame]:
    """The records of a file by run folder, read once, and again when the file has changed."""
    try:
        return pl.read_parquet(path).partition_by(FOLDER, as_dict=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
