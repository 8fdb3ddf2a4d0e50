"""Long work: theory and verdicts, in processes that can be killed, and questions to models, in a queue.

Each kind of work has its own slots, so that long predictions do not block the rest.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import to_process

from lengthwise.errors import InputError
from lengthwise.explorer import (
    LOADED_MODELS,
    MAX_QUEUED_TOKENS,
    WAIT_SECONDS,
    WORK_SECONDS,
    CheckQuery,
    PredictQuery,
    RefusedError,
)

if TYPE_CHECKING:
    from starlette.requests import Request

    from lengthwise.runs.load import LoadedRun

T = TypeVar("T")

WORK = {
    "check": ("form", "predict:check"),
    "explain": ("form", "predict:explain"),
    "predict": ("predict", "predict:predict_rows"),
    "judge": ("runs", "runs:judge"),
    "report": ("runs", "runs:report"),
    "judge_some": ("list", "runs:judge_some"),
}
"""By name, the kind of work and the function that does it. The worker process imports it: reading records needs
libraries that a first prediction should not wait for."""
PLACES = {"form": 1, "predict": 2, "runs": 1, "list": 1}
"""Number of processes for each kind of work."""

FIRST_GUESS = 0.005
"""Assumed seconds per token, until an answer has been timed."""

COMMANDS = {"judge": "evaluate", "report": "report"}
"""The command that does the same work without a time limit, where it is not `predict`."""


class Workers:
    def __init__(self) -> None:
        self._places = {kind: asyncio.Semaphore(count) for kind, count in PLACES.items()}

    async def start(self) -> None:
        """Start the processes that the page needs first."""
        await asyncio.gather(
            self.call("check", **CheckQuery().model_dump()), self.call("predict", **PredictQuery().model_dump())
        )

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of some work, which is killed when it takes too long or its caller is cancelled."""
        places, seconds = self._places[WORK[name][0]], WORK_SECONDS[name]
        try:
            with anyio.fail_after(WAIT_SECONDS):
                await places.acquire()
        except TimeoutError:
            why = f"too many requests: this one waited {WAIT_SECONDS:g} s for its turn (try again later)"
            raise RefusedError(why, status=429) from None
        try:
            with anyio.fail_after(seconds):
                limiter = anyio.CapacityLimiter(1)
                return await to_process.run_sync(
                    work, os.getpid(), name, arguments, cancellable=True, limiter=limiter
                )
        except TimeoutError:
            raise RefusedError(
                f"this takes longer than the {seconds:g} s allowed here; ask for less, such as a smaller modulus, "
                f"or use lengthwise {COMMANDS.get(name, 'predict')}, which has no time limit"
            ) from None
        except anyio.BrokenWorkerProcess:
            raise RefusedError(f"the worker process of {name} died; try again", status=503) from None
        finally:
            places.release()


async def while_connected(request: "Request", work: Awaitable[T]) -> T:
    """The result of some work, which is cancelled when the client disconnects."""

    async def cancel_when_gone(scope: anyio.CancelScope) -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(0.1)
        scope.cancel()

    with anyio.CancelScope() as scope:
        watching = asyncio.ensure_future(cancel_when_gone(scope))
        try:
            return await work
        finally:
            watching.cancel()
    raise RefusedError("the client has disconnected", status=499)


def work(server: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run one piece of work in a worker process."""
    _belong_to(server)
    try:
        return resolve_name(f"lengthwise.explorer.{WORK[name][1]}")(**arguments)
    except InputError:
        raise
    except Exception as error:  # one broken run must not break the page
        raise InputError(f"{name} failed: {type(error).__name__}: {error}") from None


@cache
def _belong_to(server: int) -> None:
    """Exit when the server is gone. Ctrl-C is left to the server, which stops its workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.set_int_max_str_digits(0)
    threading.Thread(target=_end_with, args=(server,), daemon=True).start()


def _end_with(server: int) -> None:
    while os.getppid() == server:
        time.sleep(0.5)
    os._exit(1)


# Questions to models -------------------------------------------------------------------------------------------


class Models:
    """The models used last. A checkpoint that has changed is loaded again."""

    def __init__(self) -> None:
        self._loads: dict[tuple[Path, int], asyncio.Future[LoadedRun]] = {}

    async def get(self, path: Path) -> "LoadedRun":
        key = (path, _version(path))
        load = self._loads.pop(key, None) or asyncio.ensure_future(asyncio.to_thread(_load, path))
        # Move it to the end: the least recently used model is dropped first.
        self._loads[key] = load
        while len(self._loads) > LOADED_MODELS:
            self._loads.pop(next(iter(self._loads)))
        try:
            return await asyncio.shield(load)
        except Exception as error:  # one broken model must not break the page
            self._loads.pop(key, None)
            raise RefusedError(f"cannot load this model: {error}", field="model", status=409) from None


def _load(path: Path) -> "LoadedRun":
    from lengthwise.explorer.runs import read_config
    from lengthwise.runs.load import load

    read_config(path)
    return load(path, device="cpu")


def _version(path: Path) -> int:
    try:
        return (path / "checkpoint" / "state.json").stat().st_mtime_ns
    except OSError:
        return 0


@dataclass(eq=False)
class Ticket:
    """A place in the queue, for a problem of this many tokens."""

    tokens: int
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    begun: float = 0.0


class Queue:
    """Questions to models: one is answered at a time, with all cores, in the order they came."""

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []
        self._pace = FIRST_GUESS

    @contextmanager
    def join(self, tokens: int) -> Iterator[Ticket]:
        """A place at the end of the queue, left when the question is answered or its client is gone."""
        ticket, waiting = Ticket(tokens), sum(other.tokens for other in self._tickets)
        if self._tickets and waiting + tokens > MAX_QUEUED_TOKENS:
            why = f"too many questions are waiting (try again in about {self._pace * waiting:.0f} s)"
            raise RefusedError(why, status=429)
        self._tickets.append(ticket)
        self._call_first()
        try:
            yield ticket
        finally:
            self._tickets.remove(ticket)
            self._call_first()

    def _call_first(self) -> None:
        if self._tickets and not self._tickets[0].turn.is_set():
            self._tickets[0].begun = time.monotonic()
            self._tickets[0].turn.set()

    async def waiting(self, ticket: Ticket) -> AsyncIterator[dict[str, float]]:
        """Every second until its turn: how many questions come before this one, and about how long they take."""
        while not ticket.turn.is_set():
            before = self._tickets[: self._tickets.index(ticket)]
            seconds = self._pace * sum(other.tokens for other in before)
            yield {"position": len(before), "seconds": round(seconds, 1)}
            with suppress(TimeoutError):
                await asyncio.wait_for(ticket.turn.wait(), 1)

    def answered(self, ticket: Ticket) -> None:
        """Update the pace from a complete answer."""
        self._pace = (self._pace + (time.monotonic() - ticket.begun) / ticket.tokens) / 2
