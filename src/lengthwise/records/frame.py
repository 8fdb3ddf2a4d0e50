"""Records as polars frames: in Parquet files, and joined with what their runs asked, for tables and figures."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl
from pydantic import TypeAdapter

from lengthwise.errors import InputError
from lengthwise.records.files import replace_file
from lengthwise.records.schema import Record

RECORD_COLUMNS: dict[str, type[pl.DataType]] = {
    "run": pl.String,
    "seed": pl.Int64,
    "step": pl.Int64,
    "task": pl.String,
    "base": pl.Int64,
    "domain": pl.String,
    "reference": pl.String,
    "mode": pl.String,
    "metric": pl.String,
    "correct": pl.Int64,
    "value": pl.Float64,
    "total": pl.Int64,
    "selection": pl.String,
    "seen": pl.Float64,
}
assert [*RECORD_COLUMNS] == [*Record.model_fields], "a record's fields in their order"

FOLDER = "folder"
"""The name of the run folder: a record's `run` is the name that its folder had when it was measured."""

_RECORDS = TypeAdapter(list[Record])


def write_records(path: Path, runs: Mapping[str, Sequence[Record]]) -> None:
    """The records of many runs, run after run, in their order."""
    columns = {FOLDER: [name for name, records in runs.items() for _ in records]} | {
        column: [getattr(record, column) for records in runs.values() for record in records]
        for column in RECORD_COLUMNS
    }
    frame = pl.DataFrame(columns, schema={FOLDER: pl.String, **RECORD_COLUMNS})
    replace_file(path, lambda aside: frame.write_parquet(aside, compression="zstd", compression_level=19))


def stored_records(path: Path, folder: str) -> list[Record]:
    frame = _stored(path, path.stat().st_mtime_ns).get((folder,))
    return [] if frame is None else _RECORDS.validate_python(frame.drop(FOLDER).to_dicts())


@lru_cache(maxsize=8)
def _stored(path: Path, changed: int) -> dict[tuple[object, ...], pl.DataFrame]:
    """By run folder. Read once for all runs of a file, and again when it has changed."""
    try:
        return pl.read_parquet(path).partition_by(FOLDER, as_dict=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
