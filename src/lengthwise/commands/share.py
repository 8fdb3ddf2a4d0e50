"""Verbs that show or hand on what there is: report, explore, export and data."""

import json
import logging
import signal
import socket
import sys
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lengthwise.errors import InputError
from lengthwise.explorer.runs import DEFAULT_ROOTS
from lengthwise.progress import progress_shown
from lengthwise.records.files import refuse_used_folder

MAX_PORT = 65_535


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write one HTML page that compares prediction and measurement for some runs. It needs no network.

    Example: lengthwise report runs --out report.html
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = ()
    """Run folders, folders that contain them, packed files, or models that come with the package."""
    out: Path = Path("report.html")
    """The file to write; it may be a pipe or device."""
    json: bool = False
    """Print a summary of the report as JSON."""

    def run(self) -> None:
        from lengthwise.report.page import Report as Page
        from lengthwise.shipped import model_path

        with progress_shown("writing the report", at_once=True):
            report = Page.of([model_path(run) for run in self.runs])
            report.write(self.out)
        if self.json:
            content = {
                "report": str(self.out),
                "runs": [run.label for run in report.runs],
                "unfinished": {run.label: run.standing for run in report.unfinished},
                "left_out": report.left_out,
                "verdicts": report.counts,
            }
            return print(json.dumps(content, indent=2))
        for name, why in report.left_out.items():
            print(f"left out {name}: {why}")
        return print(f"{self.out}: {report.summary}")


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
        # Requests and workers cut off by Ctrl-C are not errors.
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).addFilter(lambda _: not server.should_exit)
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


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a trained run as a Hugging Face folder: weights, tokenizer, generation config and model card.

    AutoModelForCausalLM loads it, and `lengthwise evaluate --hf` measures it.

    Example: lengthwise export runs/add-D4-learned-s1 --to huggingface exported/addition
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, or a model that comes with the package."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """Folder to write; it must be new or empty."""
    to: Literal["huggingface"] = "huggingface"
    """Format to write."""

    def run(self) -> None:
        refuse_used_folder(self.folder)
        with progress_shown("exporting", at_once=True):
            from lengthwise.interop.huggingface import export
            from lengthwise.runs.load import load

            architecture = export(load(self.run_folder, device="cpu"), self.folder)
        print(f"{self.folder}: {architecture}")


@dataclass(frozen=True, kw_only=True)
class Data:
    """Write problems with their answers as text, JSON lines or Parquet, with a dataset card.

    Example: lengthwise data add D4 -n 100000 --operand-width 20 --out train.txt
    """

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """Operation and modulus: add, mul, sub, add%101, mul%150."""
    domain: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DOMAIN")]
    """Domain of the problems: D4, B4, 40x2, D4+D5, D1..4."""
    number: Annotated[int, tyro.conf.arg(aliases=["-n"], metavar="N")] = 1000
    """Number of problems."""
    layout: str = "padded"
    """How a problem is written: padded (the paper's), aligned, descending, reversed, level, plain,
    scratchpad."""
    format: Literal["text", "jsonl", "parquet"] = "text"
    """File format, with one line, object or row per problem."""
    side: Literal["train", "test"] = "train"
    """train: no problem held out for tests; test: only those."""
    sampling: Literal["uniform", "paper", "balanced", "chains"] = "uniform"
    """How problems are drawn, as in training."""
    base: int = 10
    """Number base, 2 to 36."""
    seed: int = 0
    """Random seed; problem k depends only on the seed and k."""
    operand_width: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: the longest)")
    ] = None
    """Number of digits that operands are padded to."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: print)")] = None
    """File to write; its dataset card is FILE.md."""

    def run(self) -> None:
        from lengthwise.interop.data import DataSet, lines, write

        data = DataSet(**{name: getattr(self, name) for name in DataSet.model_fields})
        if self.out is not None:
            with progress_shown("writing problems", at_once=True):
                return write(data, self.format, self.out)
        if self.format == "parquet":
            raise InputError("--format parquet requires --out FILE")
        return sys.stdout.writelines(lines(data, self.format))
