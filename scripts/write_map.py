"""Write docs/map.md, the map of files: a line each, taken from the first line of a module's docstring.

Files that are no Python modules have their line in the table below. A test checks that the map is up to date.
"""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "map.md"
HEAD = """# Map

Every file, with what it is for: the first line of its docstring. `scripts/write_map.py` writes this page; the
README has a line for each folder. Names below `src/lengthwise` are short.
"""
TABLE = "| file | what it is for |\n|---|---|\n"
TITLES = {".": "At the top"}

LINES = {
    "CHANGELOG.md": "What changed, version by version.",
    "CITATION.cff": "How to cite lengthwise, and the paper it makes runnable.",
    "CONTRIBUTING.md": "How to work on lengthwise.",
    "LICENSE": "MIT.",
    "Makefile": "demo, test, lint, results, docs, dist: each sets up .venv by itself.",
    "constraints.txt": "The version of every direct dependency that the tests pass with.",
    "mkdocs.yml": "The documentation as a site: its pages, look and checks.",
    "pyproject.toml": "The package, its extras, and the tools' settings.",
    "docs/add-a-layout.md": "A layout of your own, step by step.",
    "docs/add-an-encoding.md": "A positional encoding of your own, step by step.",
    "docs/api.md": "The Python API, from docstrings: functions, records, what an encoding or a layout is.",
    "docs/architecture.md": "How the parts fit together, and who may import whom.",
    "docs/encodings.md": "Every positional encoding in a formula and a picture.",
    "docs/explorer.md": "lengthwise explore: what its page shows, its API, its bounds.",
    "docs/extend.md": "Operations, encodings, layouts and networks of your own.",
    "docs/first-hour.md": "Thirty steps for a newcomer, from an empty folder to a report and a notebook.",
    "docs/interop.md": "Hugging Face folders in and out, any causal LM asked, problems as files.",
    "docs/log.md": "What was tried and what it gave, by date.",
    "docs/map.md": "This page.",
    "docs/performance.md": "How fast training and evaluation are, and what limits them.",
    "docs/prior.md": "How much of generalizing to long operands is learned and how much is built in.",
    "docs/protocol.md": "How the paper's rows are tuned and reported: seeds, rules, every setting that was tried.",
    "docs/python.md": "Every function of the package, by example, and config files.",
    "docs/relative.md": "Encodings and relative positions: what is run, how, and what each verdict means.",
    "docs/reliability.md": "What is promised when something goes wrong, how it is tested, and what was measured.",
    "docs/report.md": "The report: one HTML page on any number of runs.",
    "docs/results.md": "Every table and figure of the paper, beside exact theory; made by make results.",
    "docs/scale.md": "Many runs: sweeps on this machine, on Ray and on SLURM, and what they cost.",
    "docs/theory.md": "The theory: rules, derivations, exact formulas.",
    "docs/thousand.md": "Operands many times longer than trained: what is run, and why it works or fails.",
    "docs/own-numbers.md": "Your own base and modulus: predict, train, read the verdict.",
    "docs/usage.md": "Every verb of the command line, by example.",
}


def files() -> list[str]:
    """Documents at the top, then docs, then the package; folders' empty __init__ files are left out."""
    command = ["git", "ls-files", "--cached"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    names = [name for name in listed if (ROOT / name).exists()]
    top = [n for n in names if "/" not in n and n not in ("README.md", ".gitignore")]
    docs = [n for n in names if n.startswith("docs/") and n.endswith(".md")]
    code = [n for n in names if n.startswith(("src/", "scripts/")) and n.endswith(".py")]
    return [*sorted(top), *sorted(docs), *sorted(n for n in code if not _is_folder_note(n))]


def _is_folder_note(name: str) -> bool:
    return name.endswith("__init__.py") and name != "src/lengthwise/__init__.py"


def line(name: str) -> str:
    if name in LINES:
        return LINES[name]
    docstring = ast.get_docstring(ast.parse((ROOT / name).read_text()))
    assert docstring, f"{name} has no docstring, and no line in {Path(__file__).name}"
    return docstring.splitlines()[0]


def page() -> str:
    """A table for each folder; files of the package go without `src/lengthwise/`."""
    folders: dict[str, list[str]] = {}
    for name in files():
        short = name.removeprefix("src/lengthwise/")
        text = line(name).replace("|", "\\|")
        folders.setdefault(str(Path(name).parent), []).append(f"| `{short}` | {text} |\n")
    tables = (f"\n## {TITLES.get(folder, folder)}\n\n{TABLE}{''.join(rows)}" for folder, rows in folders.items())
    return HEAD + "".join(tables)


if __name__ == "__main__":
    PAGE.write_text(page())
