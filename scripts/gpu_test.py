"""Runs the tests that need a GPU and writes commit, card and counts to results/gpu-tests.json, or a named file."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
# Other tests need libraries that a GPU machine may lack.
GPU_TESTS = [str(ROOT / "tests" / part) for part in ("model", "training", "evaluation/test_strata.py")]
sys.path.insert(0, str(ROOT / "src"))
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])


class Counts:
    """A pytest plugin that counts outcomes."""

    def __init__(self) -> None:
        self.passed, self.failed = 0, list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1


def main() -> int:
    if not torch.cuda.is_available():
        print("error: there is no GPU here", file=sys.stderr)
        return 2
    from lengthwise.runs.machine import environment  # noqa: PLC0415

    counts = Counts()
    code = pytest.main(["-q", "-m", "gpu", "-p", "no:cacheprovider", *GPU_TESTS], plugins=[counts])
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        **environment(torch.device("cuda")),
        "passed": counts.passed,
        "failed": counts.failed,
    }
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "results" / "gpu-tests.json"
    target.write_text(json.dumps(facts, indent=2) + "\n")
    print(f"{counts.passed} passed, {len(counts.failed)} failed: written to {target.name}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
