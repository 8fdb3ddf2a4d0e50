"""Work in processes on this machine: one per GPU, or per core without one.

A worker is `python -m lengthwise.runs.local MODULE FUNCTION`: each line of JSON on its input is a piece of work,
each line on its output has the failures. Its environment sets its GPU and threads, which must be known before
torch is imported. It stops with a checkpoint when its input is closed, also because its parent was killed.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from selectors import EVENT_READ, DefaultSelector
from threading import Thread

import torch

from lengthwise.errors import InputError
from lengthwise.runs.sweep import Events, Failures, Finish, Work

TICK = 1.0
"""Seconds between two updates while waiting for workers."""
LEAST_SHARE = 0.01
"""The smallest share of a GPU for a worker."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, kw_only=True)
class LocalEngine:
    workers: int | None
    """None for as many as fit on the machine."""
    gpus: float | None
    """GPUs per worker; None for one if there are any, 0 for none."""
    retries: int
    logs: Path

    def run(self, finish: Finish, works: Sequence[Work]) -> Events:
        waiting, deaths = deque(range(len(works))), Counter[int]()
        places = worker_environments(self.gpus, self.workers)[: len(works)]
        with closing(_Pool(finish, places, self.logs)) as pool:
            while waiting or pool.busy:
                while waiting and pool.idle:
                    number = waiting.popleft()
                    pool.give(number, works[number])
                for number, reply in pool.replies():
                    if isinstance(reply, dict):
                        yield number, reply
                    elif deaths[number] < self.retries:
                        deaths[number] += 1
                        waiting.appendleft(number)
                    else:
                        yield number, dict.fromkeys(works[number].runs, reply)
                yield None


def worker_environments(gpus: float | None, workers: int | None) -> list[dict[str, str]]:
    """The environment variables of each worker, for as many as fit on this machine.

    Several workers get one thread each: torch processes with more threads than cores slow each other down.
    """
    devices = [] if gpus == 0 else visible_gpus()
    if not devices and gpus:
        raise InputError("no GPU here (try --gpus 0)")
    share = gpus or 1.0
    if not LEAST_SHARE <= share <= 1:
        raise InputError(f"gpus is {share:g} (must be 0, or {LEAST_SHARE:g} to 1: a run trains on one GPU)")
    room = [{"CUDA_VISIBLE_DEVICES": name} for _ in range(int(1 / share)) for name in devices]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    chosen = (room or [{} for _ in range(workers or cores)])[:workers]
    return [{**own, **dict.fromkeys(THREADS, "1")} for own in chosen] if len(chosen) > 1 else chosen


def visible_gpus() -> list[str]:
    count, chosen = torch.cuda.device_count(), os.environ.get("CUDA_VISIBLE_DEVICES")
    return (chosen.split(",") if chosen else [str(k) for k in range(count)])[:count]


class _Pool:
    """Workers, started when there is work for them, and restarted after they died."""

    def __init__(self, finish: Finish, places: Sequence[Mapping[str, str]], logs: Path) -> None:
        self.function, self.places, self.logs = (finish.__module__, finish.__qualname__), places, logs
        self.idle, self.busy = [*range(len(places))], dict[int, int]()
        """Places without work, and by place the number of the work there."""
        self.workers: dict[int, subprocess.Popen[str]] = {}
        self.selector = DefaultSelector()

    def give(self, number: int, work: Work) -> None:
        place = self.idle.pop(0)
        self.busy[place] = number
        worker = self.workers.get(place) or self._start(place)
        assert worker.stdin is not None
        with suppress(BrokenPipeError):  # it died, as its reply will say
            worker.stdin.write(json.dumps(asdict(work)) + "\n")
            worker.stdin.flush()

    def replies(self) -> Iterator[tuple[int, Failures | str]]:
        """The failures of work that has ended, or how its worker died."""
        for key, _ in self.selector.select(TICK):
            place, worker = key.data, self.workers[key.data]
            assert worker.stdout is not None
            line = worker.stdout.readline()
            reply = json.loads(line) if line.endswith("\n") else self._death(place)
            if place in self.busy:
                self.idle.append(place)
                yield self.busy.pop(place), reply

    def _start(self, place: int) -> "subprocess.Popen[str]":
        self.logs.mkdir(parents=True, exist_ok=True)
        # In its own session, so that Ctrl-C reaches it like every other stop: by the end of its input.
        with self._log(place).open("ab") as log:
            worker = self.workers[place] = subprocess.Popen(
                [sys.executable, "-m", "lengthwise.runs.local", *self.function],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **self.places[place]},
                start_new_session=True,
            )
        assert worker.stdout is not None
        self.selector.register(worker.stdout, EVENT_READ, place)
        return worker

    def _log(self, place: int) -> Path:
        return self.logs / f"worker-{place}.log"

    def _death(self, place: int) -> str:
        worker = self.workers.pop(place)
        self.selector.unregister(worker.stdout)  # pyright: ignore[reportArgumentType]
        code = _ended(worker)
        how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
        return f"its worker {how}; see {self._log(place)}"

    def close(self) -> None:
        """Close all workers' input, so that they save a checkpoint and stop; a second Ctrl-C kills them."""
        for worker in self.workers.values():
            assert worker.stdin is not None
            with suppress(BrokenPipeError):
                worker.stdin.close()
        try:
            for worker in self.workers.values():
                worker.wait()
        finally:
            for worker in self.workers.values():
                worker.kill()
                _ended(worker)
            self.selector.close()
            for log in self.logs.glob("worker-*.log"):
                if log.stat().st_size == 0:
                    log.unlink()
            with suppress(OSError):  # it is not empty, or not there
                self.logs.rmdir()


def _ended(worker: "subprocess.Popen[str]") -> int:
    """Its exit code, once its pipes are closed."""
    with suppress(BrokenPipeError), worker:
        pass
    return worker.wait()


def main() -> None:
    """Run a worker."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # printed text goes to the log
    module, name = sys.argv[1:]
    lines = SimpleQueue[str]()
    Thread(target=_read, args=(lines,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        finish: Finish = getattr(import_module(module), name)
        while True:
            failures = finish(Work(**json.loads(lines.get())))
            print(json.dumps(failures), file=replies, flush=True)


def _read(lines: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        lines.put(line)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
