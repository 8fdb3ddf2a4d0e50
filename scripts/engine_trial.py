"""Compares trials/fused with today's training steps on a GPU: equality, set-up and speed.

    python scripts/engine_trial.py --out FOLDER            about six minutes on an H200
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
from pathlib import Path
from threading import Timer
from typing import Any

STARTED = time.time()
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
SMOKE = "--smoke" in sys.argv
if SMOKE:
    import trials.fused.interpreted  # noqa: F401

import torch

from lengthwise.recipes.configure import fast, paper
from lengthwise.runs import costs
from lengthwise.runs.build import build, tokens_per_step, training_steps
from lengthwise.runs.config import RunConfig
from lengthwise.runs.machine import wait_for
from lengthwise.training.optimizer import learning_rate_factor
from lengthwise.training.trainer import Steps
from trials.fused.steps import fused_steps

IMPORTED = time.time()
DEVICE = torch.device("cpu" if SMOKE else "cuda")
SECONDS, PATIENCE = (0.0, 900) if SMOKE else (1.5, 180)
TESTS = "tests/trials"

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
KINDS: dict[str, dict[str, Any]] = {
    "fused": {},
    "overlap": {"overlap": True},
    "parts": {"parts": 2},
    "parts+overlap": {"parts": 2, "overlap": True},
    "residual16": {"residual": torch.bfloat16},
    "registers168": {"attention": {"maxnreg": 168}},
    "warps4": {"attention": {"num_warps": 4}},
    "warps8": {"attention": {"num_warps": 8}},
}
"""Choices of FusedSteps; `today` are the steps of lengthwise as it is."""
Point = tuple[str, str, int]
COLD: list[Point] = [("fused", "paper", 8)]
FUSED: list[Point] = [("fused", name, members) for name in BASES for members in (8, 1)]
VARIANTS: list[Point] = [
    *((kind, "paper", 8) for kind in KINDS if kind not in ("fused", "warps4")),
    *((kind, "26", 8) for kind in ("overlap", "parts", "warps4")),
    *((kind, "45", 8) for kind in ("parts", "warps4")),
    ("overlap", "paper", 1),
    ("overlap", "26", 1),
]
TODAY: list[Point] = [("today", "paper", 8), ("today", "26", 8), ("today", "paper", 1)]
if SMOKE:
    FUSED, VARIANTS, TODAY = [*COLD, ("fused", "26", 1)], [("parts", "26", 2)], TODAY[:1]


def config_of(name: str) -> RunConfig:
    if not SMOKE:
        return BASES[name]
    tiny = {"layers": 1, "heads": 2, "width": 32}
    changes: dict[str, Any] = {
        "base": 3,
        "train": "D2",
        "test": "D1..3",
        "data": {"operand_width": 3, "samples": None},
    }
    return BASES[name].changed(task="add", model=tiny, training={"batch": 2}, **changes)


def stack_of(name: str, members: int) -> Any:
    config = config_of(name)
    return build([config.changed(seed=config.seed + k) for k in range(members)], DEVICE)


def steps_of(kind: str, stack: Any) -> Steps:
    if kind == "today":
        return training_steps(stack)
    return fused_steps(stack, **KINDS[kind], **({"window": 1} if SMOKE else {}))


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
        stack = stack_of(name, 2)
        steps = training_steps(stack, plain=True) if kind == "plain" else steps_of("fused", stack)
        ends = [*range(1, first + 1), *range(first + each, count + 1, each)]
        found[kind] = [taken(steps, start, end, stack) for start, end in zip([0, *ends], ends, strict=False)]
    plain, fused = (torch.tensor(found[kind]) for kind in ("plain", "fused"))
    off = (fused / plain - 1).abs()
    return {
        "largest_deviation_of_a_step": off[:first].max().item(),
        "mean_deviation_later": off[first:].mean().item(),
        "last_losses": {kind: losses[-5:] for kind, losses in found.items()},
    }


def taken(steps: Steps, start: int, end: int, stack: Any) -> list[float]:
    """The mean losses of these steps."""
    training = stack.config.training
    steps.losses.clear()
    for at in range(start, end, steps.most):
        now = range(at, min(end, at + steps.most))
        steps.take(at, [learning_rate_factor(training, step, 0.0) for step in now])
    return (steps.losses.sums / steps.losses.counts).tolist()


def profile() -> dict[str, Any]:
    """Kernels of a fused step of 8: microseconds and calls per step."""
    from torch.profiler import ProfilerActivity  # noqa: PLC0415 (slow to import)
    from torch.profiler import profile as profiled  # noqa: PLC0415

    found: dict[str, Any] = {}
    for name in ("paper",) if SMOKE else ("paper", "26"):
        steps = steps_of("fused", stack_of(name, 1 if SMOKE else 8))
        take = costs._window_taker(steps)
        take()
        with profiled(activities=[ProfilerActivity.CPU if SMOKE else ProfilerActivity.CUDA]) as seen:
            take()
            wait_for(DEVICE)
        field = "self_cpu_time_total" if SMOKE else "self_device_time_total"
        rows = [(e.key, getattr(e, field) / steps.most, e.count / steps.most) for e in seen.key_averages()]
        found[name] = sorted(rows, key=lambda row: -row[1])[:45]
        print(f"{name}: {sum(row[1] for row in rows):.0f} us per step")
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
    phases, start = {}, time.perf_counter()
    torch.zeros(1, device=DEVICE)
    phases["device"] = time.perf_counter() - start
    stack = stack_of(name, members)
    phases["build"] = time.perf_counter() - start - phases["device"]
    steps = steps_of(kind, stack)
    take = costs._window_taker(steps)
    take()
    wait_for(DEVICE)
    setup = time.perf_counter() - start
    rate = steps.most / costs._seconds_each(take, DEVICE, SECONDS)
    batch = stack.config.training.batch
    tokens = tokens_per_step(stack)
    return {
        "kind": kind, "setting": name, "members": members, "steps_per_second": rate,
        "model_steps_per_second": rate * members, "tokens_per_second": rate * members * tokens,
        "operations": costs.step_operations(stack, batch), "setup_seconds": setup,
        "phases": {**phases, **getattr(steps, "seconds", {})},
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
    results: dict[str, Any] = {"torch": torch.__version__, "ceilings": ceilings}
    parts: dict[str, Callable[[], Any]] = {
        "cold": lambda: measured(COLD, ceilings),
        "fused": lambda: measured(FUSED, ceilings),
        "tests": tests,
        "curves": curves,
        "profile": profile,
        "variants": lambda: measured(VARIANTS, ceilings),
        "today": lambda: measured(TODAY, ceilings),
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
    for part in ("cold", "fused", "variants", "today"):
        for row in list(results.get(part, [])):
            print(words(row) if isinstance(row, dict) else row)


def words(row: dict[str, Any]) -> str:
    if "steps_per_second" not in row:
        return str(row)
    phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in row["phases"].items())
    return (
        f"{row['kind']:13} {row['setting']:10} x{row['members']} {row['model_steps_per_second']:7.1f} "
        f"model-steps/s {row['tokens_per_second'] / 1e6:6.2f} Mtok/s {100 * row['share_of_ceiling']:5.1f} % "
        f"set-up {row['setup_seconds']:5.1f} s + imports {row['import_seconds']:4.1f} s ({phases})"
    )


if __name__ == "__main__":
    main()
