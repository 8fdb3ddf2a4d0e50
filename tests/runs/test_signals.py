"""Ctrl-C and a request to end stop a verb in good order, also where a script's background ignores Ctrl-C."""

import signal
import subprocess
import sys
import time

import pytest

from lengthwise.records.files import read_json

TRAIN = "train add --base 4 --train D2 --size nano --device cpu --training.steps 1000000"


def started(*arguments) -> subprocess.Popen:
    """A command in the background of a script, where shells ignore interrupts."""
    command = [
        "sh",
        "-c",
        'trap "" INT; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "lengthwise",
        *map(str, arguments),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stopped(process: subprocess.Popen, by: signal.Signals) -> tuple[str, str]:
    """What it printed; a process that does not end is killed."""
    process.send_signal(by)
    try:
        printed = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, printed
    return printed


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("by", "moment"),
    [(signal.SIGINT, "status.json"), (signal.SIGTERM, "status.json"), (signal.SIGINT, "records.jsonl")],
)
def test_training_from_a_background(tmp_path, by, moment):
    """While the model is built, and while it trains."""
    process = started(*TRAIN.split(), "--out", tmp_path, "--name", "run", "--evaluation.problems", 20)
    wait_for(tmp_path / "run" / moment, process)
    _, said = stopped(process, by)
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("stopped")
    assert read_json(tmp_path / "run" / "status.json")["status"] == "stopped"


def test_a_prediction_from_a_background():
    """What takes more than two seconds says so on one line of stderr, and stops when asked to."""
    process = started("predict", "mul%19997", "--test", "D5..40", "--json")
    assert process.stderr is not None
    assert process.stderr.readline().startswith("predicting")
    assert stopped(process, signal.SIGINT) == ("", "stopped\n")
