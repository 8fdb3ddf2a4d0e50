"""Starting and stopping `lengthwise explore` as a user does."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx


class Server(NamedTuple):
    address: str
    process: subprocess.Popen
    said: str
    runs: Path = Path()

    def client(self, **options) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=60, **options)


@contextmanager
def serving(*arguments: str, **options) -> Iterator[Server]:
    """A server that is gone afterwards, whatever happens."""
    command = [sys.executable, "-m", "lengthwise", "explore", "--no-browser", "--port", "0", *arguments]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, **options
    ) as process:
        try:
            yield _started(process)
        finally:
            # Its workers end with it.
            process.kill()


def _started(process: subprocess.Popen) -> Server:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"http://\S+?/(?= )", line):
            return Server(found[0], process, said)
    raise AssertionError(f"the server did not start: {said}")


def stop(server: Server, by: signal.Signals = signal.SIGINT) -> int:
    """Its exit code."""
    server.process.send_signal(by)
    return server.process.wait(timeout=60)


def children(process: int) -> set[int]:
    """The processes that a process has started, and they in turn."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name of a command, in parentheses, may hold anything.
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(stat.parent.name)] = int(parent)
    found: set[int] = set()
    while new := {child for child, parent in parents.items() if parent in found | {process}} - found:
        found |= new
    return found
