"""The notebooks run from top to bottom, and the one on theory still shows what is stored in it."""

import runpy
from pathlib import Path

import nbformat
import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "run_notebooks.py"))
NOTEBOOKS = {path.stem: path for path in SCRIPT["NOTEBOOKS"]}


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))


def texts(notebook):
    """What each cell shows, without pictures."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.get("text") or output["data"]["text/plain"] for output in outputs]


def test_theory_shows_what_is_stored(tmp_path):
    ran = SCRIPT["run_notebook"](NOTEBOOKS["theory"], tmp_path)
    assert texts(ran) == texts(nbformat.read(NOTEBOOKS["theory"], as_version=4)), "run: scripts/run_notebooks.py"


@pytest.mark.slow
def test_training_runs_in_small(tmp_path, monkeypatch):
    monkeypatch.setenv("LENGTHWISE_NOTEBOOK_STEPS", "3")
    small = texts(SCRIPT["run_notebook"](NOTEBOOKS["train-and-look"], tmp_path))
    assert any("undecided" in text for text in small) and [*(tmp_path / "runs").iterdir()]
    stored = texts(nbformat.read(NOTEBOOKS["train-and-look"], as_version=4))
    assert len(small) == len(stored), "run: scripts/run_notebooks.py"


@pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_stored_outputs_are_whole_and_clean(path):
    notebook = nbformat.read(path, as_version=4)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == [*range(1, len(counts) + 1)]
    outputs = [output.output_type for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "error" not in outputs and len(outputs) >= 5
