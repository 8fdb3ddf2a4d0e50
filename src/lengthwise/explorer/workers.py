"""Processes that do the server's long work, theory and verdicts, and can be stopped at any time.

A worker reads a request per line, as JSON, and writes a reply per line. It ends when its input does, so that it
never outlives the server. Each kind of work has workers of its own: long predictions never keep the rest waiting.
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from lengthwise.errors import InputError
from lengthwise.explorer.bounds import WAIT_SECONDS, WORK_SECONDS, RefusedError

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

KINDS = {"check": "form", "explain": "form", "predict": "predict", "judge": "runs", "report": "runs"}
COUNTS = {"form": 1, "predict": 2, "runs": 1}
"""Workers of each kind."""
STARTED_AT_ONCE = ("form", "predict")
"""What a page needs first. All others start when they are needed."""

COMMANDS = {"judge": "evaluate", "report": "report"}
"""Where the command line does the same without a bound; else it is `predict`."""

REPLY_BYTES = 2**24


class Worker:
    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._killed = False

    async def start(self) -> asyncio.subprocess.Process:
        if self._killed:
            await self.end()
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "lengthwise.explorer.workers"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=REPLY_BYTES,
                # Ctrl-C is for the server, which ends its workers itself.
                start_new_session=True,
            )
        return self._process

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        process = await self.start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"call": name, "arguments": arguments}).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker died while it did {name}")
        return json.loads(line)

    def kill(self) -> None:
        """The next call starts another process."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            self._killed = True

    async def end(self) -> None:
        self.kill()
        if self._process is not None:
            await self._process.wait()
        self._process, self._killed = None, False


class Workers:
    def __init__(self) -> None:
        self._all = {kind: [Worker() for _ in range(count)] for kind, count in COUNTS.items()}
        # The worker used last is taken first: it has started.
        self._idle = {kind: asyncio.LifoQueue[Worker]() for kind in COUNTS}
        for kind, workers in self._all.items():
            for worker in reversed(workers):
                self._idle[kind].put_nowait(worker)

    async def start(self) -> None:
        await asyncio.gather(*(self._all[kind][0].start() for kind in STARTED_AT_ONCE))

    async def end(self) -> None:
        await asyncio.gather(*(worker.end() for workers in self._all.values() for worker in workers))

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The reply to a call. A worker that takes too long, or whose caller is cancelled, is ended."""
        idle = self._idle[KINDS[name]]
        try:
            worker = await asyncio.wait_for(idle.get(), WAIT_SECONDS)
        except TimeoutError:
            why = f"too many requests: this one waited {WAIT_SECONDS:g} s for its turn (try again later)"
            raise RefusedError(why, status=429) from None
        try:
            async with asyncio.timeout(WORK_SECONDS[name]):
                reply = await worker.call(name, arguments)
        except BaseException as error:
            worker.kill()
            if not isinstance(error, TimeoutError):
                raise
            raise RefusedError(
                f"this takes longer than the {WORK_SECONDS[name]:g} s allowed here: ask for less, as a smaller "
                f"modulus, or ask lengthwise {COMMANDS.get(name, 'predict')}, which takes its time"
            ) from None
        finally:
            idle.put_nowait(worker)
        if "error" in reply:
            raise RefusedError(reply["error"], field=reply["field"])
        return reply["result"]


async def while_connected(request: "Request", work: Awaitable[T]) -> T:
    """The result of work, which is cancelled once nobody waits for it any more."""
    import anyio

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


def reply_to(line: str) -> dict[str, Any]:
    """What a worker replies to a request."""
    from lengthwise.explorer import predict

    calls = {"check": predict.check, "explain": predict.explain, "predict": predict.predict_rows}
    request = json.loads(line)
    try:
        if request["call"] not in calls:
            # Reading records takes libraries that a first prediction should not wait for.
            from lengthwise.explorer import runs

            calls |= {"judge": runs.judge, "report": runs.report}
        return {"result": calls[request["call"]](**request["arguments"])}
    except RefusedError as refusal:
        return {"error": str(refusal), "field": refusal.field}
    except InputError as error:
        return {"error": str(error), "field": None}
    except Exception as error:  # the worker lives on: one broken run must not take the page with it
        return {"error": f"{request['call']} went wrong: {type(error).__name__}: {error}", "field": None}


def main() -> None:
    sys.set_int_max_str_digits(0)
    requests = SimpleQueue[str]()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    from lengthwise.explorer import predict  # noqa: F401  before the first request, which should not wait for it

    while True:
        print(json.dumps(reply_to(requests.get())), flush=True)


def _read(requests: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        requests.put(line)
    # The server is gone, however it ended.
    os._exit(0)


if __name__ == "__main__":
    main()
