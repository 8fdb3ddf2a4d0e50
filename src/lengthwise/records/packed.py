"""Finished runs as data: RECIPE.json with their configs, environments and status, RECIPE.parquet with all records.

A live results folder holds notes, RECIPE.json, and the run folders that they list, runs/ROW-sSEED. Packed, a note
has the key `folders` with the small files of each run, and the records of all its runs lie beside it. A run that
several notes list is stored with the first of them, by name, and the others say where. Run folders come back from
it to the byte: packing refuses files of which it could not promise that.
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from lengthwise.errors import InputError
from lengthwise.records.files import json_text, read_json, write_json
from lengthwise.records.folder import CONFIG, ENVIRONMENT, RECORDS, STATUS, RunFolder, RunSource
from lengthwise.records.schema import Record, record_lines

SMALL_FILES = {"config": CONFIG, "environment": ENVIRONMENT, "status": STATUS}
RUNS = "runs"


class PackedRun(RunSource):
    """A run of a packed file, called FILE.json/NAME."""

    def content(self, file: str) -> Any:
        entry = _folders(self.path.parent)[self.name]
        return next(entry.get(key) for key, name in SMALL_FILES.items() if name == file)

    def records(self) -> list[Record]:
        # What trains and evaluates does without polars.
        from lengthwise.records.frame import stored_records  # noqa: PLC0415

        return stored_records(self.path.parent.with_suffix(".parquet"), self.name)

    def records_size(self) -> int:
        return _folders(self.path.parent)[self.name]["records_size"]

    def record_lines(self, start: int = 0, most: int | None = None) -> bytes:
        lines = record_lines(self.records())
        return lines[start:] if most is None else lines[start : start + most]


def is_packed(path: Path) -> bool:
    # Path.is_file would raise where a folder may not be searched.
    return path.suffix == ".json" and os.path.isfile(path) and os.path.isfile(path.with_suffix(".parquet"))  # noqa: PTH113


def open_run(path: Path | str) -> RunSource:
    """A run folder, or a run of a packed file, as results/addition.json/addition-D4-s1."""
    path = Path(path)
    if not is_packed(path.parent):
        return RunFolder(path)
    if path.name not in _folders(path.parent):
        raise InputError(f"no run {path.name!r} in {path.parent}")
    return PackedRun(path)


def packed_runs(file: Path) -> list[PackedRun]:
    """All runs that a packed file lists, also where another file stores them."""
    return [
        PackedRun(file.with_name(entry.get("stored_in", file.name)) / name)
        for name, entry in _folders(file).items()
    ]


def runs_below(path: Path) -> list[RunSource]:
    """The run at this path, those of a packed file, or all inside a folder, each once."""
    if is_packed(path):
        return [*packed_runs(path)]
    if path.is_file() or is_packed(path.parent) or (path / CONFIG).is_file():
        return [open_run(path)]
    live = [RunFolder(config.parent) for config in sorted(path.rglob(CONFIG))]
    files = (parquet.with_suffix(".json") for parquet in sorted(path.rglob("*.parquet")))
    packed = {run.path: run for file in files if is_packed(file) for run in packed_runs(file)}
    return [*live, *packed.values()]


def notes(folder: Path) -> dict[str, dict[str, Any]]:
    """What each recipe took, by its name: the notes of a results folder, without runs packed in them."""
    found = (_note(path) for path in sorted(folder.glob("*.json")))
    return {note["recipe"]: note for note in found if "recipe" in note}


def pack(folder: Path, into: Path) -> list[Path]:
    """Pack a live results folder: two files for each note. Gives the notes' new places."""
    listing = {path: note for path in sorted(folder.glob("*.json")) if "runs" in (note := read_json(path))}
    if not listing:
        raise InputError(f"no results to pack in {folder}: it has no note, RECIPE.json, that lists runs")
    listed = {name for note in listing.values() for name in note["runs"]}
    unlisted = sorted(path.name for path in (folder / RUNS).glob("*") if path.name not in listed)
    if unlisted:
        raise InputError(f"no note in {folder} lists the runs {', '.join(unlisted)}")
    stored: dict[str, Path] = {}
    for path, note in listing.items():
        _check_bytes(path, json_text(note).encode())
        _refuse_fewer(into / path.name, note["runs"])
        own = [RunFolder.existing(folder / RUNS / name) for name in note["runs"] if name not in stored]
        elsewhere = {name: {"stored_in": stored[name].name} for name in note["runs"] if name in stored}
        _write(into / path.name, {**note, "folders": {**elsewhere, **{run.name: _entry(run) for run in own}}}, own)
        stored |= {run.name: path for run in own}
    return [into / path.name for path in listing]


def unpack(folder: Path, into: Path) -> list[Path]:
    """The live form again, byte for byte: notes, and a folder for each run. Gives the run folders."""
    files = [path for path in sorted(folder.glob("*.json")) if is_packed(path)]
    written: list[Path] = []
    for file in files:
        into.mkdir(parents=True, exist_ok=True)
        write_json(into / file.name, _note(file))
        own = (run for run in packed_runs(file) if run.path.parent == file)
        written += [_write_folder(run, into / RUNS / run.name) for run in own]
    return written


def _write(file: Path, content: dict[str, Any], runs: Iterable[RunFolder]) -> None:
    from lengthwise.records.frame import write_records  # noqa: PLC0415

    file.parent.mkdir(parents=True, exist_ok=True)
    write_records(file.with_suffix(".parquet"), {run.name: run.records() for run in runs})
    write_json(file, content)


def _write_folder(run: PackedRun, path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for file in SMALL_FILES.values():
        if (content := run.content(file)) is not None:
            write_json(path / file, content)
    (path / RECORDS).write_bytes(run.record_lines())
    return path


def _entry(run: RunFolder) -> dict[str, Any]:
    """All of a run but its records, of which the size is told."""
    entry = {key: content for key, file in SMALL_FILES.items() if (content := run.content(file)) is not None}
    for key, content in entry.items():
        _check_bytes(run.path / SMALL_FILES[key], json_text(content).encode())
    lines = record_lines(run.records())
    _check_bytes(run.records_path, lines)
    return {**entry, "records_size": len(lines)}


def _check_bytes(path: Path, packed: bytes) -> None:
    if path.read_bytes() != packed:
        raise InputError(f"{path} is not as lengthwise writes it: packing would change it")


def _refuse_fewer(packed: Path, names: Iterable[str]) -> None:
    """Packing replaces a file, so it must hold what the file holds."""
    lost = sorted(_folders(packed).keys() - {*names}) if is_packed(packed) else []
    if lost:
        raise InputError(f"{packed} holds runs that are not there to pack: {', '.join(lost)}; unpack it first")


def _note(path: Path) -> dict[str, Any]:
    return {key: value for key, value in read_json(path).items() if key != "folders"}


def _folders(file: Path) -> dict[str, dict[str, Any]]:
    return _folders_at(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _folders_at(file: Path, changed: int) -> dict[str, dict[str, Any]]:
    """Read once for all runs of a file, and again when it has changed."""
    content = read_json(file)
    folders = cast(dict[str, Any], content).get("folders") if isinstance(content, dict) else None
    if not isinstance(folders, dict):
        raise InputError(f"{file} holds no runs: it has no folders")
    found = cast(dict[str, Any], folders)
    bad = [name for name, entry in found.items() if not (_is_name(name) and _is_entry(entry))]
    if bad:
        raise InputError(f"{file} is not as lengthwise packs runs: folders has no files of {bad[0]!r}")
    return found


def _is_entry(entry: Any) -> bool:
    """The files of a run and the size of its records, or where else they are stored."""
    if not isinstance(entry, dict):
        return False
    known = cast(dict[str, Any], entry)
    return _is_name(known["stored_in"]) if "stored_in" in known else type(known.get("records_size")) is int


def _is_name(name: Any) -> bool:
    """Of a file or folder, and not of one inside another."""
    return isinstance(name, str) and Path(name).name == name != ""
