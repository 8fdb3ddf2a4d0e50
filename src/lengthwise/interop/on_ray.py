"""Work on Ray: a task for each stack, on a cluster that is there or one started for it on this machine."""

import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from lengthwise.errors import InputError, one_line
from lengthwise.runs.work import Events, Failures, Finish, Work

if TYPE_CHECKING:
    import ray

TICK, STOP_SECONDS = 1.0, 120.0


@dataclass(frozen=True, kw_only=True)
class RayEngine:
    address: str | None
    """Of a cluster; None for the one that RAY_ADDRESS names, or one on this machine for the time of the work."""
    workers: int | None
    """Tasks at once; None for as many as the cluster has room for."""
    gpus: float | None
    """GPUs for each task, or a part of one; None for a whole one where the cluster has some."""
    retries: int

    def run(self, finish: Finish, works: Sequence[Work]) -> Events:
        with _cluster(self.address):
            task, waiting = self._task(), dict["ray.ObjectRef[Any]", int]()
            try:
                for number, work in enumerate(works):
                    while self.workers and len(waiting) >= self.workers:
                        yield from _ended(waiting, works)
                    waiting[task.remote(finish, work)] = number
                while waiting:
                    yield from _ended(waiting, works)
            finally:
                _cancel([*waiting])

    def _task(self) -> Any:
        import ray  # noqa: PLC0415 (an extra)

        there = ray.cluster_resources().get("GPU", 0.0)
        share = min(there, 1.0) if self.gpus is None else self.gpus
        if share > there:
            raise InputError(f"gpus is {share:g}, but the cluster has {there:g} in all (try --gpus 0)")
        options = {"num_cpus": 1, "num_gpus": share, "max_retries": self.retries, "name": "lengthwise"}
        return ray.remote(dies_when_stopped).options(**options)


def dies_when_stopped(finish: Finish, work: Work) -> Failures:
    """A worker that is asked to stop, as its node is about to go, dies after a checkpoint: Ray then starts its
    task again elsewhere, which it does not do for one that ends by an interrupt."""
    try:
        return finish(work)
    except KeyboardInterrupt:
        os._exit(1)


def _ended(waiting: "dict[ray.ObjectRef[Any], int]", works: Sequence[Work]) -> Events:
    import ray  # noqa: PLC0415
    from ray.exceptions import RayError  # noqa: PLC0415

    for one in ray.wait([*waiting], timeout=TICK)[0]:
        number = waiting.pop(one)
        try:
            yield number, ray.get(one)
        except RayError as error:
            yield number, dict.fromkeys(works[number].runs, one_line(f"{type(error).__name__}: {error}"))
    yield None


def _cancel(tasks: "Sequence[ray.ObjectRef[Any]]") -> None:
    """Those at work save a checkpoint first."""
    import ray  # noqa: PLC0415

    for task in tasks:
        ray.cancel(task)
    if tasks:
        ray.wait([*tasks], num_returns=len(tasks), timeout=STOP_SECONDS)


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    try:
        import ray  # noqa: PLC0415
    except ImportError:
        raise InputError("ray is not installed: pip install 'lengthwise[ray]'") from None
    if ray.is_initialized():
        yield
        return
    # Ray takes a request to end for itself, and would skip our own way to stop.
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
    try:
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)
        yield
    finally:
        ray.shutdown()
