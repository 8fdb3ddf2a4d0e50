"""Breaks the code in small ways, one at a time, and tells which no test notices: scripts/mutate.py --count 44.

A mutant is one change to one file: a comparison turned, a constant one off, a `not` dropped, min for max, + for -,
`and` for `or`, None returned. It is written into a copy of the repository, and the tests of its module run there
with -x, after they have passed without it.
"""

import argparse
import ast
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

# Imported once for all mutants, each of which is tested in a process that starts from here.
import numpy  # noqa: F401
import polars  # noqa: F401
import pydantic  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import torch  # noqa: F401

ROOT = Path(__file__).parent.parent

# What is mutated, and the tests that have to notice it.
TARGETS = {
    "theory/accuracy.py": (
        "tests/theory/test_accuracy.py",
        "tests/theory/test_dependence.py",
        "tests/theory/test_local.py",
        "tests/theory/test_predict.py",
    ),
    "theory/residues.py": ("tests/theory/test_accuracy.py", "tests/theory/test_predict.py"),
    "theory/hypotheses.py": ("tests/theory/test_hypotheses.py", "tests/theory/test_local.py"),
    "theory/columns.py": ("tests/theory/test_carries.py", "tests/theory/test_coverage.py"),
    "theory/rules.py": ("tests/theory/test_rules.py", "tests/theory/test_predict.py"),
    "tokens/sampling.py": ("tests/tokens/test_sampling.py",),
    "tokens/hashing.py": ("tests/tokens/test_sampling.py",),
    "evaluation/measure.py": ("tests/evaluation/test_score.py",),
    "records/verdicts.py": ("tests/records/test_verdicts.py",),
    "explorer/guard.py": ("tests/explorer/test_guard.py",),
    "training/checkpoint.py": ("tests/training/test_checkpoint.py",),
}

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    file: str
    line: int
    what: str
    source: str


def mutants(file: str) -> Iterator[Mutant]:
    """Every mutant of a file. Comments and the file's look are lost, which no test minds."""
    tree = ast.parse((ROOT / "src/lengthwise" / file).read_text())
    for node in ast.walk(tree):
        before = dict(vars(node))
        if _change(node):
            after, source = ast.unparse(node), ast.unparse(tree)
            vars(node).update(before)
            yield Mutant(file, getattr(node, "lineno", 0), f"{ast.unparse(node)}  ->  {after}", source)


def _change(node: ast.AST) -> bool:
    """Change one thing of a node by setting a field of its own; False where there is nothing to change."""
    match node:
        case ast.Compare(ops=[op, *others]) if type(op) in TURNED:
            node.ops = [TURNED[type(op)](), *others]
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            node.op = OPERATORS[type(op)]()
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.UnaryOp(op=ast.Not() | ast.Invert() as op, operand=operand):
            node.operand = ast.UnaryOp(op, operand)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            node.func = ast.Name(SWAPPED[name])
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in SWAPPED:
            node.func = ast.Attribute(value, SWAPPED[name])
        case ast.Return(value=ast.expr()):
            node.value = ast.Constant(None)
        case _:
            return False
    return True


def passes(tests: Sequence[str], place: Path, seconds: float) -> bool:
    """Whether these tests pass there. What runs for ever does not: somebody would notice."""
    child = multiprocessing.get_context("fork").Process(target=_run, args=(tests, place))
    child.start()
    child.join(seconds)
    if child.exitcode is None:
        child.kill()
    return child.exitcode == 0


def _run(tests: Sequence[str], place: Path) -> None:
    os.chdir(place)
    sys.path.insert(0, str(place / "src"))
    os.environ["PYTHONPATH"] = str(place / "src")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))


@contextmanager
def mutated(mutant: Mutant, place: Path) -> Generator[None]:
    path = place / "src/lengthwise" / mutant.file
    original = path.read_text()
    path.write_text(mutant.source)
    try:
        yield
    finally:
        path.write_text(original)


def main() -> None:
    sys.dont_write_bytecode = True
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=44, help="mutants in all, shared out evenly over the files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=list(TARGETS), help="files, as theory/columns.py")
    parser.add_argument("--seconds", type=float, default=300, help="the longest that the tests of one may take")
    given = parser.parse_args()
    draw, survivors, start = random.Random(given.seed), 0, time.monotonic()
    pools = {file: draw.sample(found := list(mutants(file)), len(found)) for file in given.only}
    chosen = [pools[file][k] for k in range(given.count) for file in given.only if k < len(pools[file])]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("src", "tests", "pyproject.toml"):
            copy_part = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy_part(ROOT / part, place / part)
        check = cache(lambda tests: passes(tests, place, given.seconds))
        for mutant in chosen[: given.count]:
            tests = TARGETS[mutant.file]
            assert check(tests), f"{', '.join(tests)} fail without a mutant"
            with mutated(mutant, place):
                lives = passes(tests, place, given.seconds)
            survivors += lives
            what = " ".join(mutant.what.split())
            print(f"{'SURVIVES' if lives else 'noticed '} {mutant.file}:{mutant.line}  {what[:160]}", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(f"{min(given.count, len(chosen))} mutants, {survivors} survive, {minutes:.0f} minutes")


if __name__ == "__main__":
    main()
