"""What theory needs to know of a positional encoding: its family, and the layout it is at home in."""

from typing import NamedTuple

from lengthwise.errors import InputError

LAYOUT_NAMES = ("padded", "aligned", "reversed", "plain", "scratchpad")
FIXED_WIDTH_LAYOUTS = ("padded", "aligned")

ABSOLUTE, RELATIVE = "absolute", "relative"


class EncodingFacts(NamedTuple):
    """`couples_digits`: digits of equal significance share a position, whatever the layout."""

    family: str | None
    layout: str
    couples_digits: bool = False


ENCODING_FACTS: dict[str, EncodingFacts] = {
    "none": EncodingFacts(None, "padded"),
    "learned": EncodingFacts(ABSOLUTE, "padded"),
    "sinusoidal": EncodingFacts(ABSOLUTE, "padded"),
    "rotary": EncodingFacts(RELATIVE, "aligned"),
    "alibi": EncodingFacts(RELATIVE, "aligned"),
    "t5": EncodingFacts(RELATIVE, "aligned"),
    "shaw": EncodingFacts(RELATIVE, "aligned"),
    "fire": EncodingFacts(RELATIVE, "aligned"),
    "abacus": EncodingFacts(RELATIVE, "reversed", couples_digits=True),
    "coupled": EncodingFacts(RELATIVE, "padded", couples_digits=True),
}

RANDOMIZED = "randomized:"


def encoding_facts(name: str) -> EncodingFacts:
    """Facts of an encoding by name; randomized positions keep the layout and leave the family."""
    inner = name.removeprefix(RANDOMIZED)
    facts = ENCODING_FACTS.get(inner)
    if facts is None:
        raise InputError(
            f"unknown encoding {name!r}: allowed are {', '.join(ENCODING_FACTS)}, "
            f"and {RANDOMIZED}NAME of one of them"
        )
    return facts if inner == name else EncodingFacts(None, facts.layout)


def check_layout(name: str) -> str:
    if name not in LAYOUT_NAMES:
        raise InputError(f"unknown layout {name!r}: allowed are {', '.join(LAYOUT_NAMES)}")
    return name
