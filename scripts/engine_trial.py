"""Compares the fused training steps of a plain GPT with the compiled ones on a GPU: equality, set-up and speed.

    python scripts/engine_trial.py --out FOLDER            about four minutes on an H200
    python scripts/engine_trial.py --out FOLDER --smoke    the same paths on a CPU, tiny

Every part prints as it goes and adds to FOLDER/results.json; one that fails leaves its error there, and the others
go on. Speeds and set-ups are measured in processes of their own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any

STARTED = time.time()
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
SMOKE = "--smoke" in sys.argv
if SMOKE:
    import interpreted  # noqa: F401

import torch

from lengthwise.recipes.configure import fast, paper
from lengthwise.runs import costs
from lengthwise.runs.build import build, training_steps
from lengthwise.runs.config import RunConfig
from lengthwise.runs.machine import environment
from lengthwise.training import graph
from lengthwise.training.optimizer import learning_rate_factor
from lengthwise.training.trainer import Steps

IMPORTED = time.time()
DEVICE = torch.device("cpu" if SMOKE else "cuda")
SECONDS, PATIENCE = (0.0, 900) if SMOKE else (1.5, 180)

TESTS = "tests/training/test_fused.py"
ADAMW = {"training": {"optimizer": "adamw"}}
BASES = {
    "paper": paper("add").changed(test="D1..9"),
    "paper-muon": paper("add").changed(test="D1..9", training={"optimizer": "muon"}),
    "26": fast("add%101").changed(test="B1..9"),
    "26-adamw": fast("add%101").changed(test="B1..9", **ADAMW),
    "45": fast("add").changed(test="D1..9", data={"operand_width": 13}),
    "45-adamw": fast("add").changed(test="D1..9", data={"operand_width": 13}, **ADAMW),
}
"""66 tokens at batch 64; 26 and 45 tokens at batch 512, with Muon unless they say otherwise."""
Point = tuple[str, str, int]
COLD: list[Point] = [("fused", "paper", 8)]
FUSED: list[Point] = [("fused", name, members) for name in BASES for members in (8, 1)]
COMPILED: list[Point] = [("compiled", "paper", 8), ("compiled", "26", 8), ("compiled", "paper", 1)]
if SMOKE:
    graph.WINDOW = 1
    FUSED, COMPILED = [*COLD, ("fused", "26", 1)], [("plain", "paper", 1)]


def configs_of(name: str, members: int) -> list[RunConfig]:
    config = BASES[name]
    if SMOKE:
        tiny = {"layers": 1, "heads": 2, "width": 32}
        domains: dict[str, Any] = {"base": 3, "train": "D2", "test": "D1..3"}
        data = {"operand_width": 3, "samples": None}
        config = config.changed(task="add", model=tiny, training={"batch": 2}, data=data, **domains)
    return [config.changed(seed=config.seed + k) for k in range(members)]


# --- parts --------------------------------------------------------------------------------------------------


def tests() -> dict[str, Any]:
    """Small stacks, 40 steps each, against plain steps."""
    call = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", TESTS]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        call, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    print(done.stdout[-3000:])
    return {"code": done.returncode, "output": done.stdout[-3000:]}


def curves() -> dict[str, Any]:
    """MiniGPT, two members: losses of each of the first 40 steps, and means over 20 of 500 steps."""
    return {name: curve_of(name) for name in ("paper", "26")}


def curve_of(name: str, first: int = 40, each: int = 20, count: int = 500) -> dict[str, Any]:
    if SMOKE:
        first, each, count = 2, 1, 3
    found: dict[str, list[list[float]]] = {}
    for kind in ("plain", "fused"):
        steps = training_steps(build(configs_of(name, 2), DEVICE), kind)
        ends = [*range(1, first + 1), *range(first + each, count + 1, each)]
        found[kind] = [taken(steps, start, end) for start, end in zip([0, *ends], ends, strict=False)]
    plain, fused = (torch.tensor(found[kind]) for kind in ("plain", "fused"))
    off = (fused / plain - 1).abs()
    return {
        "largest_deviation_of_a_step": off[:first].max().item(),
        "mean_deviation_later": off[first:].mean().item(),
        "last_losses": {kind: losses[-5:] for kind, losses in found.items()},
    }


def taken(steps: Steps, start: int, end: int) -> list[float]:
    """The mean losses of these steps."""
    steps.losses.clear()
    for at in range(start, end, steps.most):
        now = range(at, min(end, at + steps.most))
        steps.take(at, [learning_rate_factor(steps.optimizer.config, step, 0.0) for step in now])
    return (steps.losses.sums / steps.losses.counts).tolist()


def profile() -> dict[str, Any]:
    """Kernels of a fused step of 8: microseconds and calls per step."""
    found: dict[str, Any] = {}
    for name in () if SMOKE else ("paper", "26"):
        found[name] = costs.profile_steps(configs_of(name, 8), DEVICE)[:45]
        print(f"{name}: {sum(row[1] for row in found[name]):.0f} us per step")
        for key, micros, calls in found[name][:30]:
            print(f"  {micros:9.1f} us {calls:6.1f} calls  {key[:90]}")
    return found


def measured(points: list[Point], ceilings: dict[str, Any]) -> list[dict[str, Any]]:
    """Set-up and speed of some stacks, one after another in one new process; with the share of the ceiling that
    `lengthwise bench` gives."""
    call = [sys.executable, __file__, "--worker", json.dumps(points), "--since", str(time.time())]
    call += ["--smoke"] if SMOKE else []
    rows: list[dict[str, Any]] = []
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        stop = Timer(PATIENCE, process.kill)
        stop.start()
        for line in process.stdout or ():
            if line.startswith("{"):
                row = json.loads(line)
                if "operations" in row:
                    share = row["model_steps_per_second"] * row["operations"] / ceilings["products_per_second"]
                    row["share_of_ceiling"] = share
                rows.append(row)
                print(words(row), flush=True)
        stop.cancel()
    if process.returncode:
        rows.append({"error": f"exit code {process.returncode}", "points": points})
    return rows


# --- a process that measures --------------------------------------------------------------------------------


def work(points: list[Point], since: float) -> None:
    imports = IMPORTED - since
    for kind, name, members in points:
        try:
            row = one_point(kind, name, members)
        except Exception:
            row = {"kind": kind, "setting": name, "members": members, "error": traceback.format_exc()[-1500:]}
        print(json.dumps({**row, "import_seconds": imports}), flush=True)
        imports = 0.0


def one_point(kind: str, name: str, members: int) -> dict[str, Any]:
    steps, phases = costs.set_up(configs_of(name, members), DEVICE, kind)
    rate = steps.most / costs._seconds_each(costs._window_taker(steps), DEVICE, SECONDS)
    return {
        "kind": kind, "setting": name, "members": members, "steps_per_second": rate,
        "model_steps_per_second": rate * members,
        "tokens_per_second": rate * members * steps.batch * steps.data.length,
        "operations": costs.step_operations(steps), "setup_seconds": sum(phases.values()), "phases": phases,
    }  # fmt: skip


# --- all of it ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", default="", help="names of parts, with commas")
    parser.add_argument("--worker", type=json.loads)
    parser.add_argument("--since", type=float, default=STARTED)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.worker, options.since)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    ceilings = costs.measure_ceilings(DEVICE)
    date = datetime.now(UTC).date().isoformat()
    results: dict[str, Any] = {"date": date, **environment(DEVICE), "ceilings": ceilings}
    parts: dict[str, Callable[[], Any]] = {
        "cold": lambda: measured(COLD, ceilings),
        "fused": lambda: measured(FUSED, ceilings),
        "tests": tests,
        "curves": curves,
        "profile": profile,
        "compiled": lambda: measured(COMPILED, ceilings),
    }
    use_new_caches()
    for name in options.only.split(",") if options.only else parts:
        start = time.perf_counter()
        print(f"--- {name}", flush=True)
        try:
            results[name] = parts[name]()
        except Exception:
            results[name] = {"error": traceback.format_exc()}
            print(results[name]["error"], flush=True)
        print(f"--- {name}: {time.perf_counter() - start:.0f} s", flush=True)
        (options.out / "results.json").write_text(json.dumps(results, indent=1))
    table(results)


def use_new_caches() -> None:
    """Of compiled kernels: empty for the first process, and then for all."""
    folder = tempfile.mkdtemp()
    os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"


def table(results: dict[str, Any]) -> None:
    """What came out, last, where it is read first."""
    print(json.dumps(results.get("curves"))[:1500])
    print("tests:", str(results.get("tests"))[-600:])
    for part in ("cold", "fused", "compiled"):
        for row in list(results.get(part, [])):
            print(words(row) if isinstance(row, dict) else row)


def words(row: dict[str, Any]) -> str:
    if "steps_per_second" not in row:
        return str(row)
    phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in row["phases"].items())
    return (
        f"{row['kind']:8} {row['setting']:10} x{row['members']} {row['model_steps_per_second']:7.1f} "
        f"model-steps/s {row['tokens_per_second'] / 1e6:6.2f} Mtok/s {100 * row['share_of_ceiling']:5.1f} % "
        f"set-up {row['setup_seconds']:5.1f} s + imports {row['import_seconds']:4.1f} s ({phases})"
    )


if __name__ == "__main__":
    main()
