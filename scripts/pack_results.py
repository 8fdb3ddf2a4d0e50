"""Packs the run folders of recipes into results/: scripts/pack_results.py runs/full, or --unpack for the reverse.

Each recipe becomes RECIPE.json and RECIPE.parquet. Unpacked, the run folders are as they were, to the byte; files
for which that would not hold are refused. `lengthwise reproduce --out FOLDER` goes on with unpacked runs, and does
not redo what is finished.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from lengthwise.errors import InputError
from lengthwise.records.files import json_text, read_json, replace_file, write_json
from lengthwise.records.folder import RECORDS, RUNS, SMALL_FILES, PackedRun, RunFolder, is_packed, packed_runs
from lengthwise.records.frame import FOLDER, plain_frame
from lengthwise.records.schema import Record, record_lines

RESULTS = Path(__file__).parent.parent / "results"


def pack(folder: Path, into: Path) -> list[Path]:
    """Pack a results folder into two files per note. Returns the paths of the packed notes."""
    listing = {path: note for path in sorted(folder.glob("*.json")) if "runs" in (note := read_json(path))}
    if not listing:
        raise InputError(f"no results to pack in {folder}: it has no note, RECIPE.json, that lists runs")
    listed = {name for note in listing.values() for name in note["runs"]}
    unlisted = sorted(path.name for path in (folder / RUNS).glob("*") if path.name not in listed)
    if unlisted:
        raise InputError(f"no note in {folder} lists the runs {', '.join(unlisted)}")
    stored: dict[str, Path] = {}
    into.mkdir(parents=True, exist_ok=True)
    for path, note in listing.items():
        check_bytes(path, json_text(note).encode())
        refuse_fewer(into / path.name, note["runs"])
        own = [RunFolder.existing(folder / RUNS / name) for name in note["runs"] if name not in stored]
        elsewhere = {name: {"stored_in": stored[name].name} for name in note["runs"] if name in stored}
        entries = {**elsewhere, **{run.name: entry(run) for run in own}}
        write_records((into / path.name).with_suffix(".parquet"), {run.name: run.records() for run in own})
        write_json(into / path.name, {**note, "folders": entries})
        stored |= {run.name: path for run in own}
    return [into / path.name for path in listing]


def entry(run: RunFolder) -> dict[str, Any]:
    """The small files of a run, and the size of its records."""
    contents = {file: content for file in SMALL_FILES if (content := run.content(file)) is not None}
    for file, content in contents.items():
        check_bytes(run.path / file, json_text(content).encode())
    lines = record_lines(run.records())
    check_bytes(run.records_path, lines)
    return {**{Path(file).stem: content for file, content in contents.items()}, "records_size": len(lines)}


def check_bytes(path: Path, packed: bytes) -> None:
    if path.read_bytes() != packed:
        raise InputError(f"{path} was not written by lengthwise in this form: packing would change it")


def refuse_fewer(packed: Path, names: Iterable[str]) -> None:
    """Raise an InputError if packing would replace a file that has more runs."""
    lost = sorted({run.name for run in packed_runs(packed)} - {*names}) if is_packed(packed) else []
    if lost:
        raise InputError(f"{packed} has runs that would be lost: {', '.join(lost)}; unpack it first")


def write_records(path: Path, runs: Mapping[str, Sequence[Record]]) -> None:
    """Write the records of several runs, in order, as one Parquet file."""
    folders = [name for name, records in runs.items() for _ in records]
    records = plain_frame([record for own in runs.values() for record in own])
    frame = records.insert_column(0, pl.Series(FOLDER, folders, pl.String))
    replace_file(path, lambda aside: frame.write_parquet(aside, compression="zstd", compression_level=19))


def unpack(folder: Path, into: Path) -> list[Path]:
    """Restore notes and run folders byte for byte. Returns the paths of the run folders."""
    written: list[Path] = []
    for file in (path for path in sorted(folder.glob("*.json")) if is_packed(path)):
        into.mkdir(parents=True, exist_ok=True)
        write_json(into / file.name, {key: value for key, value in read_json(file).items() if key != "folders"})
        own = (run for run in packed_runs(file) if run.path.parent == file)
        written += [write_folder(run, into / RUNS / run.name) for run in own]
    return written


def write_folder(run: PackedRun, path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for file in SMALL_FILES:
        if (content := run.content(file)) is not None:
            write_json(path / file, content)
    (path / RECORDS).write_bytes(run.record_lines())
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="results as run folders: the --out of lengthwise reproduce")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where packed results are")
    parser.add_argument("--unpack", action="store_true", help="restore the run folders instead")
    options = parser.parse_args()
    try:
        if options.unpack:
            print(f"{len(unpack(options.results, options.folder))} run folders in {options.folder}/runs")
        else:
            print(*pack(options.folder, options.results), sep="\n")
    except InputError as error:
        sys.exit(str(error))
