"""Numbers as people type them, in any base."""

from lengthwise.explorer.refusal import RefusedError

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def read_number(text: str, base: int, width: int, field: str) -> int:
    """A natural number of up to `width` digits; blanks between them do not matter.

    >>> read_number("12 345", 10, 6, "a"), read_number("FF", 16, 2, "b")
    (12345, 255)
    """
    digits = "".join(text.split()).lower()
    if not digits:
        raise RefusedError("type a number here", field=field)
    allowed = DIGITS[:base]
    stranger = next((c for c in digits if c not in allowed), None)
    if stranger is not None:
        raise RefusedError(
            f"{stranger!r} is no digit in base {base}: allowed are {allowed[0]} to {allowed[-1]}", field=field
        )
    if len(digits) > width:
        raise RefusedError(f"{len(digits)} digits are too many: allowed here are up to {width}", field=field)
    return int(digits, base)
