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


LAYOUT_FACTS: dict[str, LayoutFacts] = {
    "padded": LayoutFacts(fixed_width=True),
    "aligned": LayoutFacts(fixed_width=True),
    "reversed": LayoutFacts(fixed_width=False),
    "level": LayoutFacts(fixed_width=False, levels_answers=True),
    "plain": LayoutFacts(fixed_width=False, tells_significance=False),
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
            f"unknown encoding {name!r}: allowed are {', '.join(ENCODING_FACTS)}, "
            f"and {RANDOMIZED}NAME of one that is numbered by index"
        )
    if inner == name:
        return facts
    if inner == "none" or facts.couples_digits:
        raise InputError(f"{inner} in {name!r} is not numbered by index: allowed is an encoding that is, as fire")
    return EncodingFacts(None, facts.layout)


def layout_facts(name: str) -> LayoutFacts:
    if name not in LAYOUT_FACTS:
        raise InputError(f"unknown layout {name!r}: allowed are {', '.join(LAYOUT_FACTS)}")
    return LAYOUT_FACTS[name]


def check_layout(name: str, task: Task, encoding: str) -> str:
    """Refuse a layout that does not exist, or not for this task or encoding."""
    facts = layout_facts(name)
    if task.modulus is not None and not facts.modular:
        allowed = [other for other, own in LAYOUT_FACTS.items() if own.modular]
        raise InputError(f"layout {name!r} has no form for {task}: allowed are {', '.join(allowed)}")
    if encoding_facts(encoding).couples_digits and not facts.tells_significance:
        allowed = [other for other, own in LAYOUT_FACTS.items() if own.tells_significance]
        raise InputError(
            f"encoding {encoding!r} needs the significance of a digit when it is written, which layout "
            f"{name!r} does not tell: allowed are {', '.join(allowed)}"
        )
    return name
