"""lengthwise explore: a page to play with predictions, trained models and runs."""

import sys
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from lengthwise.explorer.catalogue import DEFAULT_ROOTS

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, kw_only=True)
class Explore:
    """Serve a page on this machine and open it: predict, ask trained models, watch runs. Ctrl-C stops it.

    Example: lengthwise explore --runs runs
    """

    runs: tuple[Path, ...] = DEFAULT_ROOTS
    """Folders that hold run folders."""
    port: int = 8710
    """Port to serve at; 0 takes any that is free."""
    host: str = "127.0.0.1"
    """Address to serve at. Others than this machine can reach any but the default."""
    browser: bool = True
    """Whether to open the page in a browser."""

    def run(self) -> None:
        import uvicorn

        from lengthwise.explorer.app import create_app
        from lengthwise.explorer.listen import listen

        app = create_app(self.runs, self.host)
        listening = listen(self.host, self.port)
        port = listening.getsockname()[1]
        address = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}/"
        if self.host not in LOOPBACK:
            print(f"warning: {self.host} can be reached from other machines, by anyone", file=sys.stderr)
        print(f"lengthwise explore: {address} (Ctrl-C stops it)", flush=True)
        if self.browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, access_log=False)
        uvicorn.Server(config).run(sockets=[listening])
