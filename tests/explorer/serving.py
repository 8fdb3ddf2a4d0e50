"""Starting and stopping `lengthwise explore` as a user does."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
def serving(*arguments: str) -> Iterator[Server]:
    """A server that is gone afterwards, whatever happens."""
    server = start(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            stop(server)


def start(*arguments: str) -> Server:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "lengthwise.cli", "explore", "--no-browser", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"http://\S+?/(?= )", line):
            return Server(found[0], process, said)
    raise AssertionError(f"the server did not start: {said}")


def stop(server: Server) -> int:
    server.process.send_signal(signal.SIGINT)
    return server.process.wait(timeout=20)
