"""docs/first-hour.md, step by step as a newcomer types it: from the installed wheel, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"^(\d+)\. .*?\n( *)```sh\n(.*?)\n *```", re.DOTALL | re.MULTILINE)
SHORT = {"STEPS": "8", "COOLDOWN": "4"}
"""What takes a minute on the page takes a second here."""

# What a step must print, and the files it must leave.
PRINTS = {
    2: ["truncated:4", "Does it generalize"],
    3: ["alibi", "0 of 18 hold"],
    4: ['"evidence"', '"4/675"'],
    5: ["answer mod 50", "153/275"],
    7: ["truncated:3"],
    8: ["6912", "176912"],
    9: ["585987448204883847382293085463216538195441649307506539594191"],
    10: ["holds"],
    14: ["done"],
    19: ["theory predicts"],
    22: ['"name":"runs/first"'],
    23: ["truncated:4", "shape"],
    30: ["error: unknown size 'big' (choose from nano, micro, mini)"],
}
LEAVES = {
    12: ["small.json"],
    13: ["runs/first/records.jsonl"],
    20: ["report.html"],
    21: ["addition.html"],
    23: ["first.png"],
    24: ["runs/second/config.json"],
    26: ["train.txt", "train.txt.md"],
    28: ["exported/config.json"],
}


def steps():
    page = (ROOT / "docs" / "first-hour.md").read_text()
    return [(int(number), dedent(block)) for number, _, block in STEP.findall(page)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel, unpacked where only the commands of this test find it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-index"]
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", folder, source], check=True)
    (wheel,) = folder.glob("lengthwise-*.whl")
    subprocess.run([*pip, "install", *options, "--target", folder / "site", wheel], check=True)
    return folder / "site"


def test_there_are_thirty_steps():
    assert [number for number, _ in steps()] == list(range(1, 31))


@pytest.mark.slow
def test_every_step_of_the_first_hour(installed, tmp_path):
    environment = os.environ | SHORT
    environment |= {
        "PYTHONPATH": str(installed),
        "PATH": f"{installed / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NOTEBOOKS": str(ROOT / "docs" / "notebooks"),
        "COLUMNS": "110",
        "OMP_NUM_THREADS": "1",
    }
    for number, block in steps():
        ran = subprocess.run(
            ["bash", "-e", "-c", block],
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        printed = ran.stdout + ran.stderr
        assert "Traceback" not in printed, f"step {number}: {printed}"
        assert ran.returncode == 0, f"step {number}: {printed}"
        for words in PRINTS.get(number, []):
            assert words in printed, f"step {number}: {printed}"
        for name in LEAVES.get(number, []):
            assert (tmp_path / name).stat().st_size > 0, f"step {number} left no {name}"
