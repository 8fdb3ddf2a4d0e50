"""Run the notebooks of docs/notebooks and store what they show: scripts/run_notebooks.py, after a change to it."""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))
TIMEOUT = 1_200
"""Seconds for a cell: the longest trains a model."""


def run_notebook(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Executed in this folder, where its runs are left; nothing in it differs from one time to the next."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=TIMEOUT, record_timing=False, resources=resources).execute()
    notebook.metadata = nbformat.from_dict({"kernelspec": notebook.metadata["kernelspec"]})
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run_notebook(path, Path(folder)), path)
        print(path)
