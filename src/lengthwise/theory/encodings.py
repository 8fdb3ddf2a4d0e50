"""What theory needs to know of positional encodings and of layouts, and which of them go together."""

from typing import NamedTuple

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError


class LayoutFacts(NamedTuple):
    fixed_width: bool
    """Every digit has a place of its own, the same in all problems."""
    with_steps: bool = False
    """Intermediate steps come before the answer."""
    modular: bool = True
    """Defined for tasks with a modulus."""
    tells_significance: bool = True
    """When a digit of the answer is written, its significance is known."""
    levels_answers: bool = False
    """Answers are as wide as the widest that their task has for such operands."""
    digits_aligned: bool = False
    """Digit i of a, b and c stand at the same distances for every i."""
    lowest_first: bool = True
    """Answers are written from the lowest digit on, so that each carry can be read off the digit before."""


LAYOUT_FACTS: dict[str, LayoutFacts] = {
    "padded": LayoutFacts(fixed_width=True),
    "aligned": LayoutFacts(fixed_width=True, digits_aligned=True),
    "descending": LayoutFacts(fixed_width=True, digits_aligned=True, lowest_first=False),
    "reversed": LayoutFacts(fixed_width=False),
    "level": LayoutFacts(fixed_width=False, levels_answers=True),
    "plain": LayoutFacts(fixed_width=False, tells_significance=False, lowest_first=False),
    "scratchpad": LayoutFacts(fixed_width=True, with_steps=True, modular=False),
}

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
            f"unknown encoding {name!r} (choose from {', '.join(ENCODING_FACTS)}, and {RANDOMIZED}NAME for some)"
        )
    if inner == name:
        return facts
    if inner == "none" or facts.couples_digits:
        raise InputError(f"unknown encoding {name!r}: {inner} does not number tokens by index")
    return EncodingFacts(None, facts.layout)


def layout_facts(name: str) -> LayoutFacts:
    if name not in LAYOUT_FACTS:
        raise InputError(f"unknown layout {name!r} (choose from {', '.join(LAYOUT_FACTS)})")
    return LAYOUT_FACTS[name]


def check_layout(name: str, task: Task, encoding: str) -> str:
    """Refuse a layout that does not exist, or not for this task or encoding."""
    facts = layout_facts(name)
    if task.modulus is not None and not facts.modular:
        fitting = ", ".join(other for other, own in LAYOUT_FACTS.items() if own.modular)
        raise InputError(f"layout {name!r} does not go with {task} (choose from {fitting})")
    if encoding_facts(encoding).couples_digits and not facts.tells_significance:
        fitting = ", ".join(other for other, own in LAYOUT_FACTS.items() if own.tells_significance)
        raise InputError(
            f"layout {name!r} does not go with encoding {encoding!r}, which needs the significance of a digit "
            f"when it is written (choose from {fitting})"
        )
    return name
