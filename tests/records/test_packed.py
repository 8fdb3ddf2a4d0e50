"""Packing keeps every byte of a run folder, and what is packed reads as its folder did."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import tiny_config
from packing import pack, unpack

from lengthwise.errors import InputError
from lengthwise.explorer.runs import Catalogue, points, summary
from lengthwise.records.files import write_json
from lengthwise.records.folder import RunFolder, open_run, packed_runs, runs_below
from lengthwise.records.schema import Record
from lengthwise.records.view import RunView
from lengthwise.report.page import Report, report_html
from lengthwise.report.queries import Collection

ROOT = Path(__file__).parent.parent.parent
ODD_NUMBERS = (0.1 + 0.2, 1e-7, 5e-324, 1e22, -0.0, 1.7976931348623157e308, 123456789.125, None)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def odd_run(folder: Path, name: str) -> RunFolder:
    """Records with every kind of number, none, and letters of other alphabets."""
    config = tiny_config(seed=1).model_dump(mode="json") | {"größe": "β", "rate": 1e-05}
    run = RunFolder.claim(folder / "runs" / name, config, {"device": "日本 🙂"})
    shared = {"run": "früher", "seed": 1, "task": "add", "base": 10, "total": 2**40, "selection": "given"}
    run.append(
        Record(step=step, domain="D2:añb\u2028", metric="loss", value=value, seen=seen, **shared)
        for step, value in enumerate(ODD_NUMBERS)
        for seen in (0.0, 1 / 3)
    )
    run.append([Record(step=9, domain="D2", correct=correct, **shared) for correct in (None, 0, 2**40)])
    run.set_status("done", seconds=1e-3)
    run.checkpoint_path.rmdir()
    return run


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Path:
    """A results folder as a recipe leaves it: trained runs, one of them listed by two notes."""
    from fakes import train

    out = tmp_path_factory.mktemp("live")
    folders = train([tiny_config(seed=seed) for seed in (1, 2)], out / "runs", device="cpu")
    for seed, folder in enumerate(folders, start=1):
        shutil.rmtree(folder.checkpoint_path)
        folder.path.rename(out / "runs" / f"tiny-s{seed}")
    odd_run(out, "odd-s1")
    note = {"scale": "laptop", "wall_seconds": 1.5, "device": "cpu"}
    write_json(out / "tiny.json", {"recipe": "tiny", "runs": ["tiny-s2", "tiny-s1"], **note})
    write_json(out / "odd.json", {"recipe": "odd", "runs": ["odd-s1", "tiny-s1"], **note})
    return out


@pytest.fixture(scope="module")
def packed(live, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    pack(live, folder)
    return folder


def test_every_byte_comes_back(live, packed, tmp_path):
    unpack(packed, tmp_path)
    before, after = contents(live), contents(tmp_path)
    assert len(before) == 3 * 4 + 2
    assert after == before


@pytest.mark.slow
def test_the_repository_s_results_unpack_and_pack_to_the_same_bytes(tmp_path):
    unpack(ROOT / "results", tmp_path / "live")
    pack(tmp_path / "live", tmp_path / "packed")
    packed = contents(tmp_path / "packed")
    assert len(packed) > 40 and all(name.endswith((".json", ".parquet")) for name in packed)
    for name, content in packed.items():
        if name.endswith(".json"):
            assert content == (ROOT / "results" / name).read_bytes(), name
    unpack(tmp_path / "packed", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "live")


def test_two_files_for_each_note(packed):
    assert sorted(contents(packed)) == ["odd.json", "odd.parquet", "tiny.json", "tiny.parquet"]


def test_a_run_of_two_notes_is_stored_with_the_first(packed):
    """And found from both."""
    paths = {name: [run.path for run in packed_runs(packed / name)] for name in ("odd.json", "tiny.json")}
    assert {*paths["odd.json"]} == {packed / "odd.json" / "odd-s1", packed / "odd.json" / "tiny-s1"}
    assert {*paths["tiny.json"]} == {packed / "tiny.json" / "tiny-s2", packed / "odd.json" / "tiny-s1"}
    assert sorted(run.name for run in runs_below(packed)) == ["odd-s1", "tiny-s1", "tiny-s2"]


@pytest.mark.parametrize("name", ["tiny-s1", "odd-s1"])
def test_a_packed_run_reads_as_its_folder(live, packed, name):
    folder, run = RunFolder(live / "runs" / name), open_run(packed / "odd.json" / name)
    assert run.name == name
    assert run.config() == folder.config() and run.environment() == folder.environment()
    assert run.status() == "done" and run.costs() == folder.costs()
    assert run.records() == folder.records()
    assert run.records_size() == folder.records_size()
    assert run.record_lines(100, 333) == folder.record_lines(100, 333) == folder.records_path.read_bytes()[100:433]
    assert run.record_lines(10**9, 1) == folder.record_lines(10**9, 1) == b""
    assert not run.has_model


def test_views_and_collections_are_the_same(live, packed):
    assert (
        RunView.of(packed / "tiny.json" / "tiny-s2").verdicts() == RunView.of(live / "runs" / "tiny-s2").verdicts()
    )
    one, other = Collection(live), Collection(packed)
    assert one.notes == other.notes
    assert [view.name for view in one.views] == [view.name for view in other.views]


def test_a_report_of_packed_runs_is_that_of_their_folders(live, packed):
    folders = [live / "runs" / f"tiny-s{seed}" for seed in (1, 2)]
    assert report_html([packed / "tiny.json"]) == report_html(folders)
    assert [run.label for run in Report.of([packed / "tiny.json" / "tiny-s2"]).runs] == ["tiny-s2"]


def test_the_explorer_shows_packed_runs(live, packed):
    listed, _ = Catalogue([packed]).listed()
    name = f"{packed.name}/odd.json/tiny-s1"
    assert name in listed and len(listed) == 3
    folder = live / "runs" / "tiny-s1"
    assert summary("x", listed[name]) == summary("x", folder)
    assert points(listed[name], 50) == points(folder, 50)


def copy(live, tmp_path) -> Path:
    return Path(shutil.copytree(live, tmp_path / "live"))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("runs/tiny-s1/config.json", lambda text: text.replace("  ", " ")),
        ("runs/tiny-s1/status.json", lambda text: text + "\n"),
        ("runs/tiny-s1/records.jsonl", lambda text: text.replace('"seen":0.0', '"seen":0')),
        ("runs/tiny-s1/records.jsonl", lambda text: text[:-20]),
        ("tiny.json", lambda text: text.replace("1.5", "1.50")),
    ],
)
def test_what_would_not_come_back_is_refused(live, tmp_path, file, change):
    changed = copy(live, tmp_path)
    text = (changed / file).read_text()
    assert change(text) != text
    (changed / file).write_text(change(text))
    with pytest.raises(InputError, match="was not written by lengthwise in this form"):
        pack(changed, tmp_path / "packed")


def test_a_folder_without_notes_is_refused(tmp_path):
    with pytest.raises(InputError, match="no results to pack in"):
        pack(tmp_path, tmp_path / "packed")


def test_seeds_of_a_row_stay_together_where_a_config_is_of_an_earlier_version(live, tmp_path):
    changed = copy(live, tmp_path)
    config = RunFolder(changed / "runs" / "tiny-s1").config()
    del config["evaluation"]["anatomy"]
    write_json(changed / "runs" / "tiny-s1" / "config.json", config)
    pack(changed, tmp_path / "packed")
    rows = Collection(tmp_path / "packed").rows
    assert [view.seed for view in rows["tiny"]] == [1, 2]
    assert len({view.spec.question for view in rows["tiny"]}) == 2


def test_a_run_that_no_note_lists_is_refused(live, tmp_path):
    changed = copy(live, tmp_path)
    shutil.copytree(changed / "runs" / "tiny-s1", changed / "runs" / "tiny-s3")
    with pytest.raises(InputError, match="lists the runs tiny-s3"):
        pack(changed, tmp_path / "packed")


def test_packing_loses_no_run_that_is_packed_already(live, packed, tmp_path):
    target = Path(shutil.copytree(packed, tmp_path / "packed"))
    changed = copy(live, tmp_path)
    shutil.rmtree(changed / "runs" / "tiny-s2")
    write_json(changed / "tiny.json", {"recipe": "tiny", "runs": ["tiny-s1"]})
    with pytest.raises(InputError, match="has runs that would be lost: tiny-s2"):
        pack(changed, target)


def test_unknown_runs_and_broken_files_are_refused(packed, tmp_path):
    with pytest.raises(InputError, match="no run 'nobody' in"):
        open_run(packed / "tiny.json" / "nobody")
    with pytest.raises(InputError, match="is not a run folder"):
        open_run(packed / "tiny.parquet" / "tiny-s1").config()
    write_json(tmp_path / "broken.json", {"runs": [], "folders": {"r": {"config": {}, "records_size": 1}}})
    (tmp_path / "broken.parquet").write_bytes(b"PAR0")
    with pytest.raises(InputError, match="cannot read"):
        open_run(tmp_path / "broken.json" / "r").records()


def test_what_train_and_evaluate_print_takes_no_polars(live, tmp_path):
    """A machine that trains may have none."""
    script = (
        "import sys; sys.modules['polars'] = None\n"
        "from lengthwise.records.view import RunView\n"
        f"assert RunView.of({str(live / 'runs' / 'tiny-s1')!r}).verdicts()\n"
        "import lengthwise.report, lengthwise.report.run_tables\n"
        "import lengthwise.runs.evaluate, lengthwise.runs.launch\n"
        "import lengthwise.recipes, lengthwise.commands.reproduce\n"
        "from lengthwise.cli import main\n"
        "main(['train', 'add', '--train', 'D1', '--test', 'D1', '--size', 'nano', '--training.steps', '1',\n"
        f"      '--base', '3', '--device', 'cpu', '--out', {str(tmp_path)!r}, '--name', 'tiny'])\n"
        f"main(['evaluate', {str(tmp_path / 'tiny')!r}, '--test', 'D1'])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "undecided" in ran.stdout
