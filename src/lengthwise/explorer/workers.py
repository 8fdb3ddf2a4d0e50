"""A few worker processes: each does one thing at a time, and is ended where that takes too long or is unwanted."""

import asyncio
import json
import sys
from typing import Any

from starlette.requests import Request

from lengthwise.explorer.bounds import WAIT_SECONDS, WORK_SECONDS
from lengthwise.explorer.refusal import RefusedError

REPLY_BYTES = 2**24
COMMANDS = {"judge": "evaluate", "report": "report"}
"""Where the command line does the same without a bound; else it is `predict`."""


class Worker:
    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "lengthwise.explorer.worker"),
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

    async def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


class Workers:
    def __init__(self, count: int = 2) -> None:
        self._all = [Worker() for _ in range(count)]
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._all:
            self._idle.put_nowait(worker)

    async def start(self) -> None:
        await asyncio.gather(*(worker.start() for worker in self._all))

    async def end(self) -> None:
        await asyncio.gather(*(worker.end() for worker in self._all))

    async def call(self, request: Request, name: str, **arguments: Any) -> dict[str, Any]:
        """The reply to a call; work that nobody waits for any more is ended."""
        work = asyncio.ensure_future(self._work(name, arguments))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise RefusedError("nobody waits for this any more", status=499)
            reply = work.result()
        finally:
            await _cancelled(work, gone)
        if "error" in reply:
            raise RefusedError(reply["error"], field=reply["field"])
        return reply["result"]

    async def _work(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            worker = await asyncio.wait_for(self._idle.get(), WAIT_SECONDS)
        except TimeoutError:
            raise RefusedError(
                f"too much is being asked: waited {WAIT_SECONDS:g} s for a turn", status=429
            ) from None
        done, seconds = False, WORK_SECONDS[name]
        try:
            async with asyncio.timeout(seconds):
                reply = await worker.call(name, arguments)
            done = True
            return reply
        except TimeoutError:
            raise RefusedError(
                f"this takes longer than the {seconds:g} s allowed here: ask for less, as a smaller modulus, or "
                f"ask lengthwise {COMMANDS.get(name, 'predict')}, which takes its time"
            ) from None
        finally:
            if not done:
                await worker.end()
            self._idle.put_nowait(worker)


async def _disconnected(request: Request) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)


async def _cancelled(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
