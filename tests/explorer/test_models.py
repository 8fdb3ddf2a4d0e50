"""Models are loaded once for all who ask, and asked in the order of questions."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from lengthwise.explorer import LOADED_MODELS, MAX_QUEUED_TOKENS, RefusedError, workers
from lengthwise.explorer.workers import Models, Queue


@pytest.fixture
def loads(monkeypatch):
    done = []

    def slow_load(path):
        done.append(path)
        time.sleep(0.05)
        return object()

    monkeypatch.setattr(workers, "_load", slow_load)
    return done


def test_requests_at_the_same_time_share_one_load(loads, tmp_path):
    async def ask():
        models = Models()
        return await asyncio.gather(*(models.get(tmp_path) for _ in range(20)))

    assert len(set(map(id, asyncio.run(ask())))) == 1 and len(loads) == 1


def test_who_stops_waiting_leaves_the_load_to_the_others(loads, tmp_path):
    async def ask():
        models = Models()
        first = asyncio.ensure_future(models.get(tmp_path))
        other = asyncio.ensure_future(models.get(tmp_path))
        await asyncio.sleep(0)
        first.cancel()
        return await other

    assert asyncio.run(ask()) and len(loads) == 1


def test_a_renewed_checkpoint_is_loaded_anew(loads, tmp_path):
    async def ask():
        models, state = Models(), tmp_path / "checkpoint" / "state.json"
        first = await models.get(tmp_path)
        assert await models.get(tmp_path) is first
        state.parent.mkdir()
        state.write_text("{}")
        assert await models.get(tmp_path) is not first

    asyncio.run(ask())


def test_the_models_asked_last_are_kept(loads):
    async def ask():
        models = Models()
        for name in [*range(LOADED_MODELS), 0, "new"]:
            await models.get(Path(f"/{name}"))
        del loads[:]
        await models.get(Path("/0"))
        assert not loads
        await models.get(Path("/1"))
        assert loads == [Path("/1")]

    asyncio.run(ask())


@pytest.mark.parametrize("error", [RuntimeError("odd weights"), KeyError("x"), MemoryError()])
def test_a_model_that_does_not_load_says_so_to_all_and_may_be_tried_again(monkeypatch, tmp_path, error):
    tries, together = [], threading.Event()

    def failing_load(path):
        tries.append(path)
        together.wait(10)
        raise error

    monkeypatch.setattr(workers, "_load", failing_load)

    async def ask():
        models = Models()
        both = [asyncio.ensure_future(models.get(tmp_path)) for _ in range(2)]
        await asyncio.sleep(0)
        together.set()
        both.append(models.get(tmp_path))
        return await asyncio.gather(*both, return_exceptions=True), await asyncio.gather(
            models.get(tmp_path), return_exceptions=True
        )

    first, again = asyncio.run(ask())
    assert all(isinstance(e, RefusedError) and e.status == 409 and "cannot load" in str(e) for e in first + again)
    assert len(tries) == 2


async def answer(queue: Queue, name: int, log: list, tokens: int = 10) -> None:
    with queue.join(tokens) as ticket:
        log += [(name, wait["position"]) async for wait in queue.waiting(ticket)]
        log.append((name, "begun"))
        await asyncio.sleep(0)
        log.append((name, "done"))


def test_questions_are_answered_one_at_a_time_in_the_order_they_came():
    async def ask():
        queue, log = Queue(), []
        await asyncio.wait_for(asyncio.gather(*(answer(queue, name, log) for name in range(5))), 20)
        return log

    log = asyncio.run(ask())
    assert [entry for entry in log if isinstance(entry[1], str)] == [
        (name, event) for name in range(5) for event in ("begun", "done")
    ]
    assert [entry for entry in log if isinstance(entry[1], int)][:4] == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_who_leaves_the_queue_makes_room():
    async def ask():
        queue, log = Queue(), []
        with queue.join(10):
            waiting = [asyncio.ensure_future(answer(queue, name, log)) for name in range(3)]
            await asyncio.sleep(0.01)
            waiting[0].cancel()
            await asyncio.sleep(0.01)
        await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 20)
        return [name for name, event in log if event == "begun"]

    assert asyncio.run(ask()) == [1, 2]


def test_a_wait_is_told_as_the_tokens_before_it_take_it():
    async def ask():
        queue = Queue()
        with queue.join(100) as first:
            first.begun -= 60
            queue.answered(first)
        with queue.join(1_000), queue.join(500), queue.join(7) as third:
            return await anext(queue.waiting(third))

    wait = asyncio.run(ask())
    assert wait["position"] == 2
    # The mean of the guess at first, 0.005, and of 60 s / 100.
    assert wait["seconds"] == pytest.approx(1_500 * 0.3025, rel=0.01)


def test_a_queue_that_is_full_refuses_politely_and_one_question_alone_is_never_too_long():
    async def ask():
        queue = Queue()
        with queue.join(MAX_QUEUED_TOKENS + 1):
            with pytest.raises(
                RefusedError, match=r"too many questions are waiting \(try again in about \d+ s\)"
            ) as e:
                queue.join(1).__enter__()
            assert e.value.status == 429
        with queue.join(1) as ticket:
            assert ticket.turn.is_set()

    asyncio.run(ask())
