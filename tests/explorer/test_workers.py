import asyncio
import time

import pytest

from lengthwise.explorer import workers as workers_module
from lengthwise.explorer.refusal import RefusedError
from lengthwise.explorer.workers import Workers

USUAL = {"operation": "add", "modulus": "", "base": "10", "train": "D4", "encoding": "learned", "layout": ""}
LONG = USUAL | {"operation": "mul", "modulus": "19997", "test": "D5..40"}
SHORT = USUAL | {"test": "D5"}


class Caller:
    """A request that is given up after some seconds."""

    def __init__(self, patience: float = 1e9) -> None:
        self.end = time.monotonic() + patience

    async def is_disconnected(self) -> bool:
        return time.monotonic() > self.end


def with_workers(action, count=1):
    async def whole():
        workers = Workers(count)
        try:
            return await action(workers)
        finally:
            await workers.end()

    return asyncio.run(whole())


def test_what_takes_too_long_is_ended_and_the_bound_named(monkeypatch):
    monkeypatch.setitem(workers_module.WORK_SECONDS, "predict", 0.5)

    async def action(workers):
        with pytest.raises(RefusedError, match=r"0\.5 s"):
            await workers.call(Caller(), "predict", **LONG)
        monkeypatch.setitem(workers_module.WORK_SECONDS, "predict", 20)
        return await workers.call(Caller(), "predict", **SHORT)

    assert with_workers(action)["rows"][0]["percent"] == 0


def test_work_nobody_waits_for_any_more_makes_room_at_once():
    async def action(workers):
        with pytest.raises(RefusedError):
            await workers.call(Caller(patience=0.3), "predict", **LONG)
        start = time.monotonic()
        await workers.call(Caller(), "predict", **SHORT)
        return time.monotonic() - start

    assert with_workers(action) < 5  # The abandoned work would have taken 20 s.


def test_who_waits_too_long_is_told_to_come_back(monkeypatch):
    monkeypatch.setattr(workers_module, "WAIT_SECONDS", 0.1)

    async def action(workers):
        long = asyncio.ensure_future(workers.call(Caller(patience=1), "predict", **LONG))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError) as refusal:
            await workers.call(Caller(), "predict", **SHORT)
        await asyncio.gather(long, return_exceptions=True)
        return refusal.value.status

    assert with_workers(action) == 429


def test_many_callers_get_their_own_replies():
    async def action(workers):
        calls = [workers.call(Caller(), "predict", **SHORT | {"train": f"D{n}"}) for n in range(1, 41)]
        return [reply["trained_length"] for reply in await asyncio.gather(*calls)]

    assert with_workers(action, count=2) == list(range(1, 41))
