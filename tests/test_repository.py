"""What keeps the repository as its documents say: the map of files, who may import whom, and no leaks."""

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "lengthwise"

EVERYONE = {"errors", "config", "progress", "registry"}
# A folder of the package, and the other folders it may import.
ALLOWED = {
    "arithmetic": set(),
    "theory": {"arithmetic"},
    # Tokens lazily, for the form on digits.
    "operations": {"arithmetic", "theory", "tokens"},
    "tokens": {"arithmetic"},
    "model": set(),
    "training": {"arithmetic", "tokens", "model", "records"},
    "evaluation": {"arithmetic", "theory", "tokens", "model", "records"},
    "records": {"arithmetic", "theory"},
    "shipped": set(),
    "runs": {"arithmetic", "theory", "tokens", "model", "training", "evaluation", "records", "shipped"},
    # Of what trains, configs alone.
    "recipes": {"arithmetic", "theory", "records", "tokens", "model", "training", "runs"},
    "report": {"recipes", "records", "theory", "arithmetic"},
    "explorer": {
        "arithmetic",
        "theory",
        "records",
        "report",
        "shipped",
        # Lazily, to ask a model.
        "runs",
        "evaluation",
        "tokens",
        "model",
    },
    "interop": {"arithmetic", "theory", "tokens", "model", "evaluation", "records", "runs", "report"},
    "commands": {
        "arithmetic",
        "theory",
        "tokens",
        "model",
        "training",
        "evaluation",
        "records",
        "runs",
    }
    | {"recipes", "report", "shipped", "explorer", "interop", "api"},
    "cli.py": {"commands"},
    "__main__.py": {"cli"},
    "api.py": {"evaluation", "recipes", "records", "report", "runs", "shipped", "interop"},
    "__init__.py": {"api", "records", "recipes", "runs", "report"},
    "errors.py": set(),
    "config.py": set(),
    "registry.py": set(),
    "progress.py": set(),
}
WITHOUT_TORCH = ("arithmetic", "theory", "records", "recipes", "report")
OF_TRAINING = ("tokens", "model", "training", "runs")


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_allowed_imports(path):
    home = path.relative_to(PACKAGE).parts[0]
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "lengthwise" and len(parts) > 1:
            assert parts[1] == home or parts[1] in ALLOWED[home] | EVERYONE, f"{home} must not import {name}"
        if home in WITHOUT_TORCH or path.name == "config.py" or path == PACKAGE / home / "__init__.py":
            assert parts[0] != "torch", f"{path} must not import torch"


def test_recipes_take_configs_alone_of_what_trains_and_no_library_that_draws():
    """So that `reproduce --list` and the report need no torch, and a machine that trains no matplotlib."""
    for path in (PACKAGE / "recipes").glob("*.py"):
        taken = [name.split(".") for name in imports(path) if name.startswith("lengthwise.")]
        assert all(parts[2:] in ([], ["config"]) for parts in taken if parts[1] in OF_TRAINING), path.name
    script = "import sys, lengthwise.recipes; print(*({'torch', 'matplotlib', 'polars'} & {*sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == ""


def test_only_frames_of_records_take_polars_at_import():
    """A machine that trains and evaluates may have none."""
    for path in (PACKAGE / "records").glob("*.py"):
        taken = [
            node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        names = {alias.name for node in taken if isinstance(node, ast.Import) for alias in node.names}
        assert ("polars" in names) == (path.name == "frame.py"), path.name


def test_predict_and_every_help_never_import_torch():
    script = (
        "import sys, contextlib, io, lengthwise.cli as cli\n"
        "for arguments in [['predict', 'add', '--train', 'D2'], *([v, '--help'] for v in cli.VERBS)]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        cli.main(arguments)\n"
        "import lengthwise\n"
        "print(lengthwise.predict('add', train='D2'), lengthwise.load('addition').verdicts)\n"
        "assert 'torch' not in sys.modules, arguments\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_map_matches_the_tree():
    """Every file has its line, in the words of its own docstring."""
    wanted = runpy.run_path(str(ROOT / "scripts" / "write_map.py"))["page"]()
    assert (ROOT / "docs" / "map.md").read_text() == wanted, "run: .venv/bin/python scripts/write_map.py"


def test_the_readme_names_every_folder():
    folders = {path.parent.name for path in (ROOT / "src" / "lengthwise").glob("*/__init__.py")}
    assert folders == set(re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))


def test_no_machine_paths_or_registry_addresses():
    places = "|".join(re.escape(f"{place}/") for place in {ROOT.parent, Path.home()} if place.name)
    forbidden = re.compile(f"{places}|--(extra-)?index[-]url")
    me = str(Path(__file__).relative_to(ROOT))
    for name in tracked():
        path = ROOT / name
        if name == me or path.suffix in (".png", ".safetensors", ".parquet"):
            continue
        assert not forbidden.search(path.read_text()), name


def test_no_large_files():
    for name in tracked():
        assert (ROOT / name).stat().st_size <= 4 * 2**20, name


def direct_dependencies() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(line) for line in dict.fromkeys(chain(*lists))]


@pytest.mark.parametrize("requirement", direct_dependencies(), ids=lambda requirement: requirement.name)
def test_direct_dependencies_are_bounded_and_the_tested_version_is_written_down(requirement):
    """A new major version is met by a person who changes the bound, not by a user."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    tested = Version(pins[requirement.name])
    assert tested in requirement.specifier
    assert Version(f"{tested.major + 1}") not in requirement.specifier
    assert Version(version(requirement.name)).base_version == tested.base_version


def test_a_distribution_links_addresses_where_the_repository_links_paths():
    """README and project as PyPI shows them: every path in a link is a file of the repository, at its tag."""
    script = runpy.run_path(str(ROOT / "scripts" / "build_dist.py"))
    place = "https://example.org/lengthwise", "v9"
    readme = (ROOT / "README.md").read_text()
    linked = script["linked_readme"](readme, *place)
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", linked)
    assert len(links) == len(re.findall(r"\]\(", readme)) > 10
    for picture, link in links:
        own = link.removeprefix(f"https://example.org/lengthwise/{'raw' if picture else 'blob'}/v9/")
        assert own.startswith("https://") or (ROOT / own.partition("#")[0]).is_file(), link
    project = tomllib.loads(script["linked_project"]((ROOT / "pyproject.toml").read_text(), *place))["project"]
    assert project["urls"]["Repository"] == "https://example.org/lengthwise"
