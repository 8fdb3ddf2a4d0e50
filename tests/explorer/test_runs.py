import json
import os
import shutil
from pathlib import Path

import pytest
from fakes import tiny_config
from fuzzing import plain_rights
from serving import serving

from lengthwise.explorer import runs
from lengthwise.explorer.runs import Catalogue, points, summary
from lengthwise.records.folder import packed_runs
from lengthwise.records.schema import Record
from lengthwise.records.view import RunView
from lengthwise.report.page import Report
from lengthwise.report.run_tables import row_verdict


def line(step: int, metric: str = "exact", **changes) -> bytes:
    record = Record(
        run="r", seed=1, step=step, task="add", base=10, domain="D2", metric=metric, total=4, selection="sampled",
        correct=None if metric == "train_loss" else 3, value=0.5 if metric == "train_loss" else None,
    ).model_copy(update=changes)  # fmt: skip
    return record.model_dump_json().encode() + b"\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "records.jsonl").write_bytes(line(1) + line(1, "train_loss"))
    return tmp_path


def test_points_are_loss_and_accuracy_against_truth(folder):
    with (folder / "records.jsonl").open("ab") as handle:
        for other in (
            {"reference": "truncated:2"},
            {"mode": "decoded"},
            {"metric": "digit:1"},
            {"metric": "weak"},
        ):
            handle.write(line(2, **other))
        handle.write(b"no record\n[]\n3\n")
    reply = points(folder, 0)
    assert [(p["metric"], p["value"]) for p in reply["points"]] == [("exact", 0.75), ("train_loss", 0.5)]
    assert not reply["more"]


def test_only_what_is_new_is_read_and_a_torn_line_waits(folder):
    first = points(folder, 0)
    whole = line(2)
    with (folder / "records.jsonl").open("ab") as handle:
        handle.write(whole[:30])
    torn = points(folder, first["offset"])
    assert (torn["points"], torn["offset"], torn["more"]) == ([], first["offset"], False)
    with (folder / "records.jsonl").open("ab") as handle:
        handle.write(whole[30:])
    assert [p["step"] for p in points(folder, torn["offset"])["points"]] == [2]


def test_a_resumed_run_that_cut_its_records_is_read_anew(folder):
    end = points(folder, 0)["offset"]
    (folder / "records.jsonl").write_bytes(line(1))
    reply = points(folder, end)
    assert reply["restarted"] and len(reply["points"]) == 1


def test_long_records_come_in_pieces(folder, monkeypatch):
    steps = range(50)
    (folder / "records.jsonl").write_bytes(b"".join(map(line, steps)))
    monkeypatch.setattr(runs, "RECORD_BYTES", 700)
    seen, offset, more = [], 0, True
    while more:
        reply = points(folder, offset)
        seen += [p["step"] for p in reply["points"]]
        offset, more = reply["offset"], reply["more"]
    assert seen == list(steps)


def test_a_run_without_records_has_no_points(tmp_path):
    assert points(tmp_path, 0)["points"] == []


def test_runs_of_one_config_share_their_group(run_folders):
    groups = {path.parent.name: summary("x", path.parent).group for path in run_folders.glob("add*/config.json")}
    assert len(groups) == 2 and len(set(groups.values())) == 1
    (other,) = (run_folders / "products").iterdir()
    assert summary("x", other).group not in groups


RESULTS = Path(__file__).parent.parent.parent / "results"


@pytest.fixture
def packed(tmp_path) -> Path:
    """Three recipes that ask some of the same questions, and one run that two of them list."""
    for name in ("addition", "accuracy-by-domain", "counterexample"):
        for suffix in ("json", "parquet"):
            shutil.copy(RESULTS / f"{name}.{suffix}", tmp_path)
    return tmp_path


def test_settings_are_those_of_the_report(packed):
    listed = {run.name.split("/", 1)[1]: run for run in Catalogue([packed]).summaries().runs}
    expected = {
        f"{run.view.source.path.parent.name}/{run.view.name}": setting.name
        for question in Report.of([packed]).questions
        for setting in question.settings
        for run in setting.runs
    }
    assert {name: run.setting for name, run in listed.items()} == expected
    assert len({*expected.values()}) > 2


def test_recipes_are_those_whose_notes_list_a_run(packed):
    (packed / "broken.json").write_text("{")
    (packed / "other.json").write_text("[]")
    listed = {run.name.rpartition("/")[2]: run.recipes for run in Catalogue([packed]).summaries().runs}
    notes = {
        name: json.loads((packed / f"{name}.json").read_text())["runs"] for name in ("addition", "counterexample")
    }
    (twice,) = {*notes["addition"]} & {*notes["counterexample"]}
    assert listed[twice] == ("addition", "counterexample")
    assert all(listed[name] == ("addition",) for name in notes["addition"] if name != twice)


def test_a_changed_config_is_read_anew(tmp_path):
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    catalogue = Catalogue([tmp_path / "runs"])
    for train in ("D1", "D2", "D12"):
        (folder / "config.json").write_text(tiny_config(train=train).model_dump_json())
        assert [run.train for run in catalogue.summaries().runs] == [train]


def test_runs_are_judged_as_wholes_until_none_is_left(packed, run_folders):
    with serving("--runs", str(packed), str(run_folders)) as server, server.client() as client:
        while (reply := client.get("/api/judged").json())["left"]:
            pass
        readable = {run["name"] for run in client.get("/api/runs").json()["runs"] if not run["error"]}
    judged = reply["verdicts"]
    assert judged.keys() == readable
    for run in packed_runs(packed / "addition.json"):
        name = f"{packed.name}/{run.path.parent.name}/{run.name}"
        assert judged[name] == row_verdict(RunView(run).verdicts())


@pytest.mark.parametrize("content", ["{}", "[]", "3", "nonsense", json.dumps({"task": "add", "base": 99})])
def test_a_folder_that_cannot_be_read_says_why(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    assert summary("x", tmp_path).error


GOOD = json.loads(tiny_config().model_dump_json())
BAD = {
    "number-as-train": GOOD | {"train": 5},
    "list-as-encoding": GOOD | {"encoding": []},
    "text-as-seed": GOOD | {"seed": "x"},
    "nan-as-seed": GOOD | {"seed": float("nan")},
    "no-steps": GOOD | {"training": GOOD["training"] | {"steps": None}},
    "number-as-training": GOOD | {"training": 5},
    "no-training": {key: value for key, value in GOOD.items() if key != "training"},
    "wide": GOOD | {"data": GOOD["data"] | {"operand_width": 10**9 + 7}},
    "long": GOOD | {"test": "D1..1000000007"},
    "many": GOOD | {"test": ",".join(["D1..10000"] * 200)},
    "heavy": GOOD | {"train": f"0.{'1' * 1_900}*D1..10000"},
    "long-text": GOOD | {"task": f"add%{'9' * 500_000}"},
    "half": GOOD | {"layout": "\ud800"},
    "list": [],
    "null": None,
}


@pytest.fixture(scope="module")
def bad_folders(tmp_path_factory) -> Path:
    """Folders with one thing wrong each, beside a good one. All have a checkpoint, so that they are models too."""
    root = tmp_path_factory.mktemp("bad") / "runs"
    contents = {name: json.dumps(content) for name, content in BAD.items()}
    contents |= {"nested": "[" * 200_000, "large": " " * 2**21 + json.dumps(GOOD), "good": json.dumps(GOOD)}
    for name, content in contents.items():
        (root / name / "checkpoint").mkdir(parents=True)
        (root / name / "checkpoint" / "state.json").write_text("{}")
        (root / name / "config.json").write_text(content)
    for name, file in (("pipe", "config.json"), ("status-pipe", "status.json")):
        (root / name / "checkpoint").mkdir(parents=True)
        (root / name / "checkpoint" / "state.json").write_text("{}")
        (root / name / "config.json").write_text(contents["good"])
        (root / name / file).unlink(missing_ok=True)
        os.mkfifo(root / name / file)
    (root / "linked").mkdir()
    (root / "linked" / "config.json").symlink_to("nowhere")
    odd = root / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    (odd / "config.json").write_text(contents["good"])
    records = [line(1), line(2).replace(b'"step":2', b'"step":"two"'), line(3, "train_loss")]
    records += [line(4, "train_loss").replace(b'"value":0.5', b'"value":NaN'), b"[" * 100_000 + b"\n", line(5)]
    (root / "good" / "records.jsonl").write_bytes(b"".join(records))
    return root


def test_a_bad_folder_is_one_line_of_the_list_and_all_else_is_there(bad_folders):
    with serving("--runs", str(bad_folders)) as server, server.client() as client:
        listed = client.get("/api/runs", timeout=30)
        models = client.get("/api/models", timeout=30)
        points = client.get("/api/points", params={"run": "runs/good"})
        judged = client.get("/api/verdicts", params={"run": "runs/pipe"}, timeout=30)
        waiting = client.get("/api/points", params={"run": "runs/status-pipe"}, timeout=30)
        asked = client.get("/api/ask", params={"model": "runs/wide", "a": "1", "b": "1"}, timeout=30)
        named = [client.get(path, params={"run": r"runs/caf\xe9"}) for path in ("/api/verdicts", "/report")]
    assert (listed.status_code, models.status_code, points.status_code) == (200, 200, 200)
    errors = {run["name"]: run["error"] for run in listed.json()["runs"]}
    assert errors.pop("runs/good") is None and errors.pop("runs/half") is None
    assert len(errors) == len(BAD) + 5
    for name, told in {
        "number-as-train": "train is 5",
        "list-as-encoding": "encoding is []",
        "text-as-seed": "seed is 'x'",
        "nan-as-seed": "seed is nan",
        "no-steps": "steps is None",
        "number-as-training": "training is 5",
        "no-training": "training is missing",
        "wide": "operand_width is 1000000007",
        "long": "more than 20,000 lengths",
        "many": "more than 20,000 lengths",
        "heavy": "a number of more than 11 digits",
        "long-text": "task",
        "list": "is not an object",
        "nested": "recursion",
        "large": "larger than",
        "pipe": "config.json is not a regular file",
        "status-pipe": "status.json is not a regular file",
        "caf\\xe9": "not UTF-8",
    }.items():
        assert told in errors[f"runs/{name}"] and len(errors[f"runs/{name}"]) < 300, errors[f"runs/{name}"]
    by_name = {model["name"]: model["error"] for model in models.json()["models"]}
    assert by_name["addition"] is None and by_name["runs/good"] is None
    assert "operand_width" in by_name["runs/wide"] and "regular file" in by_name["runs/pipe"]
    assert [point["step"] for point in points.json()["points"]] == [1, 3, 5]
    for reply in (judged, waiting):
        assert reply.status_code == 422 and "regular file" in reply.json()["error"]
    for reply in named:
        assert reply.status_code == 422 and "its name is not UTF-8" in reply.text
    assert asked.status_code == 409 and "operand_width" in asked.json()["error"]


@pytest.mark.parametrize("mode", [0, 0o444])
@pytest.mark.parametrize("closed", [".", "one", "one/checkpoint"])
def test_a_folder_that_may_not_be_read_is_one_line_of_the_list(bad_folders, tmp_path, closed, mode):
    for name in ("one", "runs/two"):
        shutil.copytree(bad_folders / "good", tmp_path / "root" / name)
    for suffix in ("json", "parquet"):
        shutil.copy(RESULTS / f"counterexample.{suffix}", tmp_path / "root")
    catalogue = Catalogue([tmp_path / "root"])
    (tmp_path / "root" / closed).chmod(mode)
    with plain_rights():
        listed = {run.name.removeprefix("root/"): run.error or "" for run in catalogue.summaries().runs}
        models = {name.removeprefix("root/") for name in catalogue.models()}
    (tmp_path / "root" / closed).chmod(0o700)
    told = {name for name, error in listed.items() if "Permission denied" in error}
    if closed == ".":
        assert told == listed.keys() == ({"one", "runs"} if mode else {"."})
    else:
        assert told == ({"one"} if closed == "one" else set()) and "runs/two" in models - {"one"}


def test_a_large_packed_file_is_one_line_of_the_list(packed, monkeypatch):
    size = (packed / "addition.json").stat().st_size
    monkeypatch.setattr(runs, "MAX_PACKED_BYTES", size - 1)
    errors = {run.name.partition("/")[2]: run.error for run in Catalogue([packed]).summaries().runs}
    assert f"larger than {size - 1:,} bytes" in errors["addition.json"]
