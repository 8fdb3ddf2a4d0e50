"""Processes that work for the server: bounds of time, cancelled work, and a worker for everyone."""

import asyncio
import os
import signal
import time

import pytest
from serving import children

from lengthwise.explorer import RefusedError
from lengthwise.explorer import workers as workers_module
from lengthwise.explorer.workers import PLACES, Workers, while_connected

USUAL = {"operation": "add", "modulus": "", "base": "10", "train": "D4", "encoding": "learned", "layout": ""}
LONG = USUAL | {"operation": "mul", "modulus": "19997", "test": "D5..40"}
SHORT = USUAL | {"test": "D5"}


class Caller:
    """A request that is given up after some seconds."""

    def __init__(self, patience: float = 1e9) -> None:
        self.end = time.monotonic() + patience

    async def is_disconnected(self) -> bool:
        return time.monotonic() > self.end


def with_workers(action):
    async def whole():
        return await action(Workers())

    return asyncio.run(whole())


@pytest.fixture
def one_worker(monkeypatch):
    monkeypatch.setattr(workers_module, "PLACES", dict.fromkeys(PLACES, 1))


def test_what_takes_too_long_is_ended_and_the_bound_named(monkeypatch, one_worker):
    monkeypatch.setitem(workers_module.WORK_SECONDS, "predict", 0.5)

    async def action(workers):
        with pytest.raises(RefusedError, match=r"0\.5 s"):
            await workers.call("predict", **LONG)
        monkeypatch.setitem(workers_module.WORK_SECONDS, "predict", 20)
        return await workers.call("predict", **SHORT)

    assert with_workers(action)["rows"][0]["percent"] == 0


def test_work_nobody_waits_for_any_more_makes_room_at_once(one_worker):
    async def action(workers):
        with pytest.raises(RefusedError, match="disconnected"):
            await while_connected(Caller(patience=0.3), workers.call("predict", **LONG))
        start = time.monotonic()
        await while_connected(Caller(), workers.call("predict", **SHORT))
        return time.monotonic() - start

    assert with_workers(action) < 10  # The abandoned work would have taken 20 s.


def test_who_waits_too_long_is_told_to_come_back(monkeypatch, one_worker):
    monkeypatch.setattr(workers_module, "WAIT_SECONDS", 0.1)

    async def action(workers):
        long = asyncio.ensure_future(workers.call("predict", **LONG))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError, match="try again later") as refusal:
            await workers.call("predict", **SHORT)
        await ended(long)
        return refusal.value.status

    assert with_workers(action) == 429


def test_many_callers_get_their_own_replies():
    async def action(workers):
        calls = [workers.call("predict", **SHORT | {"train": f"D{n}"}) for n in range(1, 41)]
        return [reply["trained_length"] for reply in await asyncio.gather(*calls)]

    assert with_workers(action) == list(range(1, 41))


def test_long_predictions_keep_nothing_else_waiting(run_folders):
    """Also not where more of them are asked for than there are workers."""
    run = str(next(run_folders.glob("add*")))

    async def action(workers):
        long = [asyncio.ensure_future(workers.call("predict", **LONG)) for _ in range(5)]
        await asyncio.sleep(0)
        told = await workers.call("explain", **USUAL, a="", b="", draw=0)
        judged = await workers.call("judge", path=run)
        still_counting = not any(work.done() for work in long)
        await ended(*long)
        return told["task"], judged["step"], still_counting

    assert with_workers(action) == ("add", 24, True)


def test_a_worker_that_dies_is_told_and_replaced(one_worker):
    async def action(workers):
        before = children(os.getpid())
        first = await workers.call("predict", **SHORT)
        (worker,) = children(os.getpid()) - before
        dying = asyncio.ensure_future(workers.call("predict", **LONG))
        await asyncio.sleep(0.2)
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(RefusedError, match="died") as refusal:
            await dying
        assert refusal.value.status == 503
        return first == await workers.call("predict", **SHORT)

    assert with_workers(action)


async def ended(*work: asyncio.Future) -> None:
    for one in work:
        one.cancel()
    await asyncio.gather(*work, return_exceptions=True)
