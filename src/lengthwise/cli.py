"""The command line: the table of verbs, each a class in `commands`, whose options tyro parses.

Only the verb that is asked for is imported: `lengthwise --help` needs no library, `predict` and all help no torch.
"""

import contextlib
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Any

import lengthwise
from lengthwise.errors import InputError, one_line, shortened

VERBS = {
    "predict": "what a trained model will compute, exactly",
    "train": "train a model, measure it, judge the prediction",
    "sweep": "many runs, over all combinations of some options",
    "evaluate": "measure a trained run",
    "ask": "put a problem to a trained model",
    "reproduce": "a table or figure of the paper, by its name",
    "explore": "a page to play with: predict, ask models, watch runs",
    "report": "runs as one HTML page to look at",
    "export": "a trained run as a Hugging Face folder",
    "data": "problems as a file: text, JSON lines, Parquet",
    "bench": "how fast it is here, and how fast it could be",
    "demo": "the paper's Table 1 in miniature, on this machine",
}

HOMES = {"sweep": "train", "ask": "evaluate", "demo": "reproduce"}
HOMES |= dict.fromkeys(("report", "export", "data"), "files")
"""Of verbs that share a module of `commands` with others."""

SHELLS = ("bash", "zsh", "fish")

BOX = "╭╮╰╯│─"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb; a user's mistake ends in one line and exit code 2."""
    if arguments is None:
        _stop_on_signals()
    verb, *options = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    # Numbers here may have 10,000 digits, and exact fractions of them more; by default Python writes 4,300.
    sys.set_int_max_str_digits(0)
    # A file name may have bytes that are no text, and a terminal may know few characters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]  # some shells say so of a terminal they do not know; tables would be empty
    try:
        if verb in ("-h", "--help"):
            print(overview())
        elif verb == "--version":
            print(f"lengthwise {lengthwise.__version__}")
        elif verb == "--completion":
            _print_completion(options)
        else:
            _parse(verb, options).run()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(str(stop) or "stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output left, as `head` does.
        sys.stderr.close()
    except OSError as error:
        # A folder that may not be read, a name that is too long: what a path is for is known where it is used.
        where = "" if error.filename is None else f" {error.filename}"
        print(f"error: {one_line(f'cannot use{where}: {error.strerror or error}')}", file=sys.stderr)
        sys.exit(2)


def _stop_on_signals() -> None:
    """Ctrl-C stops every verb, though a shell starts what runs in its background with Ctrl-C ignored; so does a
    request to end, as a cluster's scheduler sends it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def overview() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:<{width}}  {purpose}" for name, purpose in VERBS.items())
    return f"""\
usage: lengthwise VERB [options]

Predict, train and check how arithmetic transformers generalize to lengths they never saw.

{verbs}

lengthwise VERB --help lists a verb's options, lengthwise --version prints the version, and
lengthwise --completion {{{",".join(SHELLS)}}} prints a script that completes verbs and options in a shell."""


def _parse(verb: str, options: Sequence[str]) -> Any:
    import tyro

    command, complaint = _command(verb), io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            # Defaults may depend on what is asked for, as those of train do on its preset.
            defaults = command.defaults(options) if hasattr(command, "defaults") else tyro.MISSING_NONPROP
            markers = (tyro.conf.FlagCreatePairsOff,)
            return tyro.cli(command, prog=f"lengthwise {verb}", args=options, default=defaults, config=markers)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        # The parser wraps what it quotes, so that long input is many words here.
        said = shortened(_one_line(complaint.getvalue()), 300, 60)
        raise InputError(f"{said}; see lengthwise {verb} --help") from None


def _command(verb: str) -> Any:
    """The class of a verb, whose fields are its options."""
    if verb not in VERBS:
        raise InputError(f"unknown verb {verb!r} (choose from {', '.join(VERBS)})")
    home = importlib.import_module(f"lengthwise.commands.{HOMES.get(verb, verb)}")
    return getattr(home, verb.capitalize())


def _print_completion(options: Sequence[str]) -> None:
    import tyro

    if len(options) != 1 or options[0] not in SHELLS:
        raise InputError(f"unknown shell {' '.join(options)!r} (choose from {', '.join(SHELLS)})")
    commands = {verb: _command(verb) for verb in VERBS}
    arguments = ["--tyro-write-completion", *options, "-"]
    markers = (tyro.conf.FlagCreatePairsOff,)
    tyro.extras.subcommand_cli_from_dict(commands, prog="lengthwise", args=arguments, config=markers)


def _one_line(boxed: str) -> str:
    """What a parser's boxed complaint says, without its title, its box and what follows the next rule.

    Where a terminal has no characters for boxes, rules are lines of dashes.
    """
    lines = [line.strip(f"{BOX} ") for line in boxed.splitlines()[1:]]
    said = ["" if set(line) == {"-"} else line for line in lines]
    start = next((i for i, line in enumerate(said) if line), 0)
    end = next((i for i, line in enumerate(said) if i > start and not line), len(said))
    # A value inside an inner config is named as its flag is: --model.layers.
    text = re.sub(r"^Error parsing config\.(\w+): ", r"\1.", " ".join(said[start:end]))
    text = text.removeprefix("Error parsing ").removesuffix(".")
    return text[:1].lower() + text[1:]
