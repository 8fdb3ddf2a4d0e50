"""lengthwise explore: serve a page to predict, ask trained models and watch runs."""

import logging
import signal
import socket
import sys
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.explorer.runs import DEFAULT_ROOTS

MAX_PORT = 65_535


@dataclass(frozen=True, kw_only=True)
class Explore:
    """Serve a page on this machine and open it: predict, ask trained models, watch runs. Ctrl-C stops it.

    Example: lengthwise explore --runs runs
    """

    runs: tuple[Path, ...] = DEFAULT_ROOTS
    """Folders that contain run folders or packed results."""
    port: int = 8710
    """Port to serve at; 0 takes any free port."""
    host: str = "127.0.0.1"
    """Address to serve at. With any other than the default, other machines can reach the page."""
    no_browser: bool = False
    """Do not open the page in a browser."""

    def run(self) -> None:
        # uvicorn handles SIGTERM itself.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        import uvicorn

        from lengthwise.explorer.app import create_app
        from lengthwise.explorer.guard import LOOPBACK

        app = create_app(self.runs, self.host)
        listening = listen(self.host, self.port)
        port = listening.getsockname()[1]
        address = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}/"
        if self.host not in LOOPBACK:
            print(f"warning: anyone on the network may reach this page at {self.host}", file=sys.stderr)
        print(f"lengthwise explore: {address} (Ctrl-C stops it)", flush=True)
        if not self.no_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, access_log=False)
        server = uvicorn.Server(config)
        # Requests cut off by Ctrl-C are not errors.
        logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, or an InputError that says why there is none."""
    if not 0 <= port <= MAX_PORT:
        raise InputError(f"port {port} is out of range (0 to {MAX_PORT})")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        # From here on an early browser waits instead of being refused.
        listening.listen()
    except UnicodeError:
        raise InputError(f"{host[:40] + '…'!r} is not a host name (for --host)") from None
    except OSError as error:
        raise InputError(
            f"cannot serve at {host} port {port}: {error.strerror}; --port 0 takes any free port"
        ) from None
    return listening
