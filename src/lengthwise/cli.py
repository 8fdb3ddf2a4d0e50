"""The command line: the table of verbs. Each verb is a class in `commands`, whose options tyro parses.

Only the verb in use is imported: `lengthwise --help` needs no library, `predict` and all help texts no torch.
"""

import contextlib
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import lengthwise
from lengthwise.errors import InputError, one_line, shortened, unknown

VERBS = {
    "predict": ("predict", "predict which function a model will compute, and its exact accuracy"),
    "train": ("train", "train a model, measure it, and judge the prediction"),
    "sweep": ("train", "train a run for every combination of some options"),
    "evaluate": ("evaluate", "measure a trained run on other domains or problems"),
    "ask": ("evaluate", "ask a trained model a problem"),
    "reproduce": ("reproduce", "train and draw a table or figure of the paper"),
    "explore": ("share", "open a page to predict, ask models and watch runs"),
    "report": ("share", "write one HTML page about some runs"),
    "export": ("share", "write a trained run as a Hugging Face folder"),
    "data": ("share", "write problems as text, JSON lines or Parquet"),
    "bench": ("bench", "measure the speed of training and what the device allows"),
    "demo": ("reproduce", "train the paper's Table 1 in miniature on two CPU cores"),
}
"""The module of `commands` that has a verb, and its purpose."""

SHELLS = ("bash", "zsh", "fish")

BOX = "╭╮╰╯│─"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb. Bad input prints one line and exits with code 2."""
    if arguments is None:
        # SIGINT and SIGTERM stop every verb: a shell's background jobs start with SIGINT ignored, and cluster
        # schedulers send SIGTERM.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
    verb, *options = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    # Numbers here may have 10,000 digits and more; by default Python prints at most 4,300.
    sys.set_int_max_str_digits(0)
    # File names may not be valid text, and a terminal may lack characters.
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
        # The reader of the output closed it, as `head` does.
        sys.stderr.close()
    except OSError as error:
        # For example an unreadable folder, or a name that is too long.
        where = "" if error.filename is None else f" {error.filename}"
        print(f"error: {one_line(f'cannot use{where}: {error.strerror or error}')}", file=sys.stderr)
        sys.exit(2)


def overview() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:<{width}}  {purpose}" for name, (_, purpose) in VERBS.items())
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
            # Defaults may depend on other options, as those of train do on its preset.
            defaults = command.defaults(options) if hasattr(command, "defaults") else tyro.MISSING_NONPROP
            markers = (tyro.conf.FlagCreatePairsOff,)
            return tyro.cli(command, prog=f"lengthwise {verb}", args=options, default=defaults, config=markers)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        # The parser wraps long input into many words, which one_line would not shorten.
        said = shortened(_one_line(complaint.getvalue()), 300, 60)
        raise InputError(f"{said}; see lengthwise {verb} --help") from None


def _command(verb: str) -> Any:
    """The class of a verb, whose fields are its options."""
    if verb not in VERBS:
        raise unknown("verb", verb, VERBS)
    home = importlib.import_module(f"lengthwise.commands.{VERBS[verb][0]}")
    return getattr(home, verb.capitalize())


def _print_completion(options: Sequence[str]) -> None:
    import tyro

    if len(options) != 1 or options[0] not in SHELLS:
        raise unknown("shell", " ".join(options), SHELLS)
    commands = {verb: _command(verb) for verb in VERBS}
    arguments = ["--tyro-write-completion", *options, "-"]
    markers = (tyro.conf.FlagCreatePairsOff,)
    tyro.extras.subcommand_cli_from_dict(commands, prog="lengthwise", args=arguments, config=markers)


def _one_line(boxed: str) -> str:
    """The message in a parser's boxed error, without the title, the box and whatever follows the next rule.

    Terminals without box characters get lines of dashes as rules.
    """
    lines = (line.strip(f"{BOX} ") for line in boxed.splitlines()[1:])
    paragraphs = (list(own) for said, own in groupby(lines, lambda line: not {*line} <= {"-"}) if said)
    # A value of an inner config is named like its option: model.layers.
    text = re.sub(r"^Error parsing config\.(\w+): ", r"\1.", " ".join(next(paragraphs, [])))
    text = text.removeprefix("Error parsing ").removesuffix(".")
    return text[:1].lower() + text[1:]
