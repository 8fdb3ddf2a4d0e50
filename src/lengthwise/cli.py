"""The command table: verbs, where they live, and what they are for. Parsing is left to tyro."""

import contextlib
import importlib
import io
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple, Protocol, cast

from lengthwise.errors import InputError


class Verb(NamedTuple):
    target: str
    purpose: str


VERBS: dict[str, Verb] = {
    "predict": Verb("lengthwise.commands.predict:Predict", "what a trained model will compute, exactly"),
    "train": Verb("lengthwise.commands.train:Train", "train a model, measure it, judge the prediction"),
    "evaluate": Verb("lengthwise.commands.evaluate:Evaluate", "measure a trained run"),
    "ask": Verb("lengthwise.commands.ask:Ask", "put a problem to a trained model"),
    "reproduce": Verb("lengthwise.commands.reproduce:Reproduce", "a table or figure of the paper, by its name"),
    "explore": Verb("lengthwise.commands.explore:Explore", "a page to play with: predict, ask models, watch runs"),
    "report": Verb("lengthwise.commands.report:ReportCommand", "runs as one HTML page to look at"),
    "bench": Verb("lengthwise.commands.bench:BenchCommand", "how fast it is here, and how fast it could be"),
    "demo": Verb("lengthwise.commands.demo:Demo", "the paper's Table 1 in miniature, on this machine"),
}

BOX = "╭╮╰╯│─"


class Command(Protocol):
    def run(self) -> None: ...


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb; a user's mistake ends in one line and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    # Numbers here may have 10,000 digits, and exact fractions of them more; Python writes 4,300 unless told.
    sys.set_int_max_str_digits(0)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return
    try:
        _load(arguments[0], arguments[1:]).run()
    except InputError as error:
        _refuse(str(error))
    except KeyboardInterrupt as stop:
        print(str(stop) or "stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output left, as `head` does.
        sys.stderr.close()


def overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:<{width}}  {verb.purpose}" for name, verb in VERBS.items()]
    return "\n".join(
        [
            "usage: lengthwise VERB [options]",
            "",
            "Predict, train and check how arithmetic transformers generalize to lengths they never saw.",
            "",
            *lines,
            "",
            "lengthwise VERB --help lists a verb's options.",
        ]
    )


def _load(name: str, arguments: Sequence[str]) -> Command:
    if name == "--version":
        from importlib.metadata import version

        print(f"lengthwise {version('lengthwise')}")
        sys.exit(0)
    if name not in VERBS:
        raise InputError(f"unknown verb {name!r}: allowed are {', '.join(VERBS)}")
    import tyro

    module, attribute = VERBS[name].target.split(":")
    command = getattr(importlib.import_module(module), attribute)
    defaults = command.defaults(arguments) if hasattr(command, "defaults") else None
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            parsed = tyro.cli(
                command,
                prog=f"lengthwise {name}",
                args=arguments,
                default=defaults,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
        return cast(Command, parsed)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise InputError(f"{_one_line(complaint.getvalue())} (see lengthwise {name} --help)") from None


def _one_line(boxed: str) -> str:
    """What a parser's boxed complaint says, without its title, its box and what follows the next rule.

    Where a terminal has no characters for boxes, rules are lines of dashes.
    """
    lines = [line.strip(f"{BOX} ") for line in boxed.splitlines()[1:]]
    said = ["" if set(line) == {"-"} else line for line in lines]
    start = next((i for i, line in enumerate(said) if line), 0)
    end = next((i for i, line in enumerate(said) if i > start and not line), len(said))
    # A value inside an inner config is named as its flag is: --model.layers.
    return re.sub(r"^Error parsing config\.(\w+): ", r"\1.", " ".join(said[start:end]))


def _refuse(message: str) -> None:
    print(f"lengthwise: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
