"""Whatever is given, a command ends with 0, or with 2 and one line, and changes nothing it was not told to change.

FUZZ_TRIALS=5000 FUZZ_SEED=7 pytest tests/test_fuzz.py runs more; tests/fuzzing.py says what a trial is.
"""

import os
import subprocess
from pathlib import Path

import pytest
from fuzzing import (
    MEMORY,
    Fuzz,
    Outcome,
    broken_promises,
    execute,
    give_up_rights,
    in_another_process,
    many,
    plain_rights,
    tree,
)

TRIALS = int(os.environ.get("FUZZ_TRIALS", "300"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory) -> Fuzz:
    return Fuzz(tmp_path_factory.mktemp("fuzz"))


def test_malformed_commands_and_folders(fuzz):
    failures = list(many(fuzz, [f"{SEED}:{number}" for number in range(TRIALS)]))
    assert not failures, f"{len(failures)} of {TRIALS} trials\n" + "\n".join(failures[:5])


@pytest.mark.parametrize("number", range(1_000, 1_003))
def test_the_same_as_a_shell_runs_it(fuzz, number):
    """Exit code and error line do not depend on being called from Python."""
    trial, found, broken = fuzz.run(SEED, number, run_both)
    assert not broken, (trial, found)


def run_both(command: list[str], place: Path) -> Outcome:
    if command[0] == "(explorer)":
        command = ["report", *command[1:], "--out", "page.html"]
    found = in_another_process(command, place)
    if found.before == found.after:
        here = execute(command, place)
        assert (here.code, here.err) == (found.code, found.err)
    return found


def test_a_trial_is_made_of_its_number_alone(fuzz):
    (one, *_), (same, *_), (other, *_) = fuzz.run(4, 1), fuzz.run(4, 1), fuzz.run(4, 2)
    assert one == same != other


GOOD = Outcome(2, "", "error: no\n", 0.1, {"a": "1"}, {"a": "1"})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"code": 0, "err": "", "after": {"a": "1", "page": "2"}}, None),
        ({"code": 1}, "ended with 1"),
        ({"code": None}, "ended with None"),
        ({"code": 0, "err": "Traceback (most recent call last)"}, "a traceback"),
        ({"err": "error: no\nand more\n"}, "not one line"),
        ({"err": ""}, "not one line"),
        ({"err": "no\n"}, "no error line"),
        ({"err": f"error: {'x' * 2_000}\n"}, "a long line"),
        ({"after": {}}, "changed ['a']"),
        ({"after": {"a": "2"}}, "changed ['a']"),
        ({"code": 0, "err": "", "after": {"a": "2"}}, "changed ['a']"),
        ({"after": {"a": "1", "b": "1"}}, "refused, and left ['b']"),
        ({"code": 0, "err": "", "after": {"a": "1", "page.new": "1"}}, "a half-written file"),
    ],
)
def test_each_promise_is_checked(changes, told):
    broken = broken_promises(["predict"], GOOD._replace(**changes))
    assert (told in broken) if told else not broken


def test_what_may_change_is_what_the_command_names():
    changed = GOOD._replace(code=0, err="", before={"/t/page": "1"}, after={"/t/page": "2"})
    assert not broken_promises(["report", "runs", "--out", "page"], changed)
    assert broken_promises(["report", "runs", "--out", "other"], changed)
    assert broken_promises(["report", "runs", "--out", "page"], changed._replace(code=2, err="error: no\n"))


def test_a_hang_and_a_flood_of_memory_end(tmp_path, monkeypatch):
    """A trial that waits forever, or takes all memory, is stopped and counts as a failure."""
    monkeypatch.setattr("fuzzing.SECONDS", 1)
    monkeypatch.setattr("fuzzing.PATIENCE", 3)
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    monkeypatch.setattr("fuzzing.main", lambda _: Path("pipe").read_bytes())
    assert "TooSlowError" in execute(["predict"], tmp_path).err
    monkeypatch.setattr("fuzzing.main", lambda _: bytearray(MEMORY + 2**30))
    assert "MemoryError" in execute(["predict"], tmp_path).err


def test_what_is_closed_is_closed_to_root_too(tmp_path):
    closed = tmp_path / "closed"
    closed.write_text("1")
    closed.chmod(0)
    with plain_rights(), pytest.raises(PermissionError):
        closed.read_text()
    shown = subprocess.run(["cat", closed], preexec_fn=give_up_rights, capture_output=True, check=False)
    assert shown.returncode == 1 and b"Permission denied" in shown.stderr
    closed.chmod(0o600)
    assert closed.read_text() == "1"


def test_only_bench_against_a_result_may_end_with_1():
    slower = GOOD._replace(code=1, err="")
    assert not broken_promises(["bench", "--against", "bench.json"], slower)
    assert broken_promises(["bench"], slower)


def test_the_tree_sees_content_links_and_pipes(tmp_path):
    place = tmp_path / "here"
    place.mkdir()
    (place / "link").symlink_to("none")
    os.mkfifo(place / "pipe")
    (place / "file").write_text("1")
    before = tree(place)
    assert {Path(path).name for path in before} == {"here", "link", "pipe", "file"}
    (place / "file").write_text("2")
    (place / "pipe").unlink()
    (place / "pipe").write_text("")
    assert {Path(path).name for path, content in tree(place).items() if content != before[path]} == {
        "file",
        "pipe",
    }
