"""Every console example of the README and the docs is run, and must print what is shown."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import lengthwise

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(>>>.*?)```", re.DOTALL)


def console_examples():
    for document in DOCUMENTS:
        for block in BLOCK.findall(document.read_text()):
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = example.partition("\n")
                yield pytest.param(command, output, id=f"{document.name}: {command}")


def squeeze(text: str) -> list[str]:
    """Trailing blanks and empty lines do not matter."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(("command", "output"), list(console_examples()))
def test_console_example(command, output):
    """A line of three dots stands for any lines."""
    environment = os.environ | {"COLUMNS": "110", "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    ran = subprocess.run(
        command, check=False, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    printed = squeeze(ran.stdout + ran.stderr)
    expected = squeeze(output)
    if "..." not in expected:
        assert printed == expected
    any_lines = "".join(r"(?:.*\n)*" if line == "..." else re.escape(f"{line}\n") for line in expected)
    assert re.fullmatch(any_lines, "".join(f"{line}\n" for line in printed)), "\n".join(printed)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_examples(document):
    for index, block in enumerate(PYTHON.findall(document.read_text())):
        test = doctest.DocTestParser().get_doctest(block, {}, f"{document.name}[{index}]", None, None)
        assert doctest.DocTestRunner().run(test).failed == 0


# GPU programs cannot be imported where there is no GPU.
MODULES = [
    m.name
    for m in pkgutil.walk_packages(lengthwise.__path__, "lengthwise.")
    if not m.name.endswith(("kernels", ".fused")) or find_spec("triton")
]


@pytest.mark.parametrize("module", [lengthwise.__name__, *MODULES])
def test_docstring_examples(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


# What documents say of files -------------------------------------------------------------------------------------

PACKAGE = ROOT / "src" / "lengthwise"
MENTIONED = re.compile(r"`([\w./-]+\.(?:py|toml|jinja|js|mplstyle))`")
LINK = re.compile(r"\]\(([^():#]+)(?:#[^()]*)?\)")
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
HOP = re.compile(r"^\| +(\d+) \| `([\w./]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_a_document_names_are_there(document):
    text = document.read_text()
    for link in LINK.findall(text):
        assert (document.parent / link).exists(), link
    if document.name == "log.md":  # tells what was, also of files that are gone
        return
    for name in MENTIONED.findall(text):
        assert (ROOT / name).exists() or (PACKAGE / name).exists(), name


def test_tests_that_a_document_names_are_there():
    defined = {name for path in ROOT.glob("tests/**/*.py") for name in TEST.findall(path.read_text())}
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "reliability.md").read_text())
    assert len(named) > 40 and not {*named} - defined


def test_hops_of_the_architecture_are_functions_and_none_comes_twice():
    hops = HOP.findall((ROOT / "docs" / "architecture.md").read_text())
    assert [int(number) for number, *_ in hops] == [*range(1, len(hops) + 1)] and len(hops) > 20
    assert len({(file, name) for _, file, name in hops}) == len(hops)
    for _, file, name in hops:
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found = importlib.import_module(f"lengthwise.{module}")
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found)
