"""What an installed package brings is known everywhere; docs/template is such a package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BROKEN = {
    "METADATA": "Metadata-Version: 2.1\nName: half-done\nVersion: 1\n",
    "entry_points.txt": "[lengthwise.operations]\nlost = half_done.nowhere:LOST\nodd = json:dumps\n"
    "[lengthwise.encodings]\nlost = half_done.nowhere:LOST\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the template and with a package that is broken, as pip leaves them, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(ROOT / "docs" / "template", tmp_path_factory.mktemp("source") / "template")
    offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", *offline, "--target", folder, source]
    subprocess.run(install, check=True, capture_output=True)
    (folder / "half_done-1.dist-info").mkdir()
    for name, text in BROKEN.items():
        (folder / "half_done-1.dist-info" / name).write_text(text)
    return folder


def ran(installed, *command, cwd=None):
    path = os.pathsep.join([str(ROOT / "src"), str(installed)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *command]
    return subprocess.run(command, check=False, env=environment, cwd=cwd, capture_output=True, text=True)


TRAINED = "train double --base 3 --train D1 --test D1..2 --encoding fading --layout swapped --size nano"
TINY = "--quiet --model.layers 1 --model.heads 2 --model.width 16 --training.steps 2 --evaluation.problems 20"


def test_the_template_trains_and_passes_its_own_tests(installed, tmp_path):
    script = f"""if True:
        from lengthwise.cli import main
        main({f"{TRAINED} {TINY}".split()})
        main(["ask", "runs/double-D1-base3-fading-swapped-s0", "2 # 2"])
    """
    told = ran(installed, "-c", script, cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert "no prediction" in told.stdout and " 2 # 2 " in told.stdout and " 20 " in told.stdout
    tests = ROOT / "docs" / "template" / "tests"
    tested = ran(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=tmp_path)
    assert "6 passed" in tested.stdout, tested.stdout


def test_names_are_known_without_torch_and_a_broken_package_harms_only_who_asks_for_it(installed):
    script = """if True:
        import sys
        from lengthwise.arithmetic import OPERATIONS
        from lengthwise.cli import main
        main("predict double --train D2 --encoding fading --layout swapped".split())
        assert "torch" not in sys.modules
        from fastapi.testclient import TestClient
        from lengthwise.explorer.app import create_app
        offered = TestClient(create_app([]), base_url="http://127.0.0.1").get("/api/choices").json()
        assert [names[-1] for names in offered.values()] == ["double", "fading", "swapped"]
        assert list(OPERATIONS) == ["add", "mul", "sub", "double", "lost", "odd"]
        assert list(OPERATIONS.working()) == ["add", "mul", "sub", "double"]
        for asked in ("lost", "odd", "add --encoding lost", "wrong"):
            try:
                main(f"predict {asked} --train D2".split())
            except SystemExit as stop:
                assert stop.code == 2
    """
    told = ran(installed, "-c", script)
    assert told.returncode == 0, told.stderr
    assert "no prediction: no theory of double" in told.stdout
    lost, odd, encoding, wrong = told.stderr.splitlines()
    reason = "(half_done.nowhere:LOST): ModuleNotFoundError: No module named 'half_done'"
    assert lost == f"error: cannot load 'lost' of lengthwise.operations from package 'half-done' {reason}"
    assert odd.endswith("(json:dumps): TypeError: it is not of class Operation")
    assert encoding == f"error: cannot load 'lost' of lengthwise.encodings from package 'half-done' {reason}"
    assert "choose from add, mul, sub, double, lost, odd" in wrong
