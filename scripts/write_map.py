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
README has a line for each folder.

"""

LINES = {
    "CHANGELOG.md": "What changed, version by version.",
    "CITATION.cff": "How to cite lengthwise, and the paper it makes runnable.",
    "CONTRIBUTING.md": "How to work on lengthwise.",
    "LICENSE": "MIT.",
    "Makefile": "demo, test, lint, results: each sets up .venv by itself.",
    "constraints.txt": "The version of every direct dependency that the tests pass with.",
    "pyproject.toml": "The package, its extras, and the tools' settings.",
    "docs/add-a-layout.md": "A layout of your own, step by step.",
    "docs/add-an-encoding.md": "A positional encoding of your own, step by step.",
    "docs/architecture.md": "How the parts fit together, and who may import whom.",
    "docs/encodings.md": "Every positional encoding in a formula and a picture.",
    "docs/explorer.md": "lengthwise explore: what its page shows, its API, its bounds.",
    "docs/interop.md": "Hugging Face folders in and out, any causal LM asked, problems as files.",
    "docs/log.md": "What was tried and what it gave, by date.",
    "docs/map.md": "This page.",
    "docs/performance.md": "What was measured, what each change gave, what the floor is.",
    "docs/prior.md": "What of generalizing to long operands is learned and what is built in: the experiments that tell.",
    "docs/protocol.md": "How the paper's rows are tuned and reported: seeds, rules, every setting that was tried.",
    "docs/relative.md": "Encodings and relative positions: what is run, how, and what each verdict means.",
    "docs/reliability.md": "What is promised when something goes wrong, how it is tested, and what was measured.",
    "docs/report.md": "The report: one HTML page on any number of runs.",
    "docs/results.md": "Every table and figure of the paper, beside exact theory; made by make results.",
    "docs/theory.md": "The theory: rules, derivations, exact formulas.",
    "docs/thousand.md": "Operands many times longer than trained: what is run, and why it works or fails.",
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
    names = files()
    width = max(map(len, names))
    return HEAD + "```\n" + "".join(f"{name:<{width}}  {line(name)}\n" for name in names) + "```\n"


if __name__ == "__main__":
    PAGE.write_text(page())
