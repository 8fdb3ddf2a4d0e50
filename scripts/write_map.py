"""Write docs/map.md, the map of files: a line each, the first sentence of a docstring or of a first comment.

Files without either have their line in the table below. A test checks that the map is up to date.
"""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "map.md"
HEAD = """# Map

Every source file, with what it is for: the first sentence of its docstring or of its first comment.
`scripts/write_map.py` writes this page; the README has a line for each folder. Names below `src/lengthwise` are
short.
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
    "src/lengthwise/explorer/page/icon.svg": "The icon of the page.",
    "src/lengthwise/explorer/page/index.html": "The page: its three parts, which the scripts fill.",
    "src/lengthwise/records/evidence.json": "Evidence for each kind of prediction, which `make results` counts.",
    "src/lengthwise/report/paper.json": "The paper's eight accuracy tables as numbers.",
    "src/lengthwise/report/page/filter.js": "The report's filter: shows the rows that match all that is asked.",
    "src/lengthwise/report/page/plots.js": "Draws the report's plots with plotly once they are in view.",
    "src/lengthwise/report/page/report.html": "The report's page as a jinja template.",
    "src/lengthwise/report/page/style.css": "How the report looks.",
    "src/lengthwise/report/results.md.jinja": "docs/results.md as a jinja template.",
}
SOURCES = (".py", ".js", ".css", ".html", ".svg", ".toml", ".json", ".jinja", ".mplstyle")
COMMENT = re.compile(r"\A(?:/\* (.*?)\*/|((?:(?://|#) .*\n)+))", re.DOTALL)
SENTENCE = re.compile(r"\s*(.+?)(?:\.\s|\.?$|\n\n)", re.DOTALL)


def files() -> list[str]:
    """Documents at the top, then docs, then the package; folders' empty __init__ files are left out."""
    command = ["git", "ls-files", "--cached"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    names = [name for name in listed if (ROOT / name).exists()]
    top = [n for n in names if "/" not in n and n not in ("README.md", ".gitignore")]
    docs = [n for n in names if n.startswith("docs/") and n.endswith(".md")]
    code = [n for n in names if n.startswith(("src/", "scripts/")) and _is_source(n)]
    return [*sorted(top), *sorted(docs), *sorted(code)]


def _is_source(name: str) -> bool:
    """Trained models are none, and neither are packages that only say what their folder is, as the README does."""
    if "/shipped/" in name and not name.endswith(".py"):
        return False
    if name.endswith("__init__.py"):
        return len(ast.parse((ROOT / name).read_text()).body) > 1
    return name.endswith(SOURCES)


def line(name: str) -> str:
    if name in LINES:
        return LINES[name]
    text = (ROOT / name).read_text()
    if name.endswith(".py"):
        said = ast.get_docstring(ast.parse(text))
    else:
        comment = COMMENT.match(text)
        said = comment and re.sub(r"^(//|#) ", "", comment[1] or comment[2], flags=re.MULTILINE)
    sentence = SENTENCE.match(said or "")
    assert sentence, f"{name} opens with no sentence, and has no line in {Path(__file__).name}"
    return f"{' '.join(sentence[1].split()).rstrip('.:')}."


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
