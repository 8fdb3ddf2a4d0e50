"""The exception meant for users: one line that names the bad value and what is accepted."""

import re
from collections.abc import Iterable

LONGEST_WORD, LONGEST_LINE = 300, 2_000


class InputError(ValueError):
    """Bad input. The command line prints the message without a traceback and exits with code 2."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


def unknown(what: str, value: object, choices: Iterable[str]) -> InputError:
    """The error about a name that is none of the choices.

    >>> unknown("size", "big", ["nano", "micro"])
    InputError("unknown size 'big' (choose from nano, micro)")
    """
    return InputError(f"unknown {what} {value!r} (choose from {', '.join(choices)})")


def one_line(message: str) -> str:
    """A message on one line, with long words shortened.

    >>> one_line("invalid task '" + "9" * 100_000 + "'")
    "invalid task '9999999999999999999999999999999999999999999999999…99999999999999999'"
    """
    # A file name may have bytes that are no text, and no reply could be written with them.
    text = message.encode(errors="backslashreplace").decode()
    words = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: shortened(word[0], 50, 18), text)
    return shortened(" ".join(words.splitlines()), LONGEST_LINE - 200, 200)


def shortened(text: str, first: int, last: int) -> str:
    """A text cut to its `first` and `last` characters where it is longer than both together."""
    return text if len(text) <= first + last else f"{text[:first]}…{text[-last:]}"
