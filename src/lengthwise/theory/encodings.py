"""Facts about positional encodings and layouts that theory needs, and which of them can be combined."""

from typing import NamedTuple

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError, unknown
from lengthwise.registry import Registry


class LayoutFacts(NamedTuple):
    fixed_width: bool
    """Every digit has its own position, the same in all problems."""
    with_steps: bool = False
    """Intermediate steps come before the answer."""
    modular: bool = True
    """Defined for tasks with a modulus."""
    tells_significance: bool = True
    """When a digit of the answer is written, its significance is known."""
    levels_answers: bool = False
    """Answers are padded to the longest possible answer for operands of these lengths."""
    digits_aligned: bool = False
    """Digit i of a, b and c are at the same distances for every i."""
    lowest_first: bool = True
    """Answers are written from the lowest digit, so that each carry can be read off the digit before."""
    implementation: str = ""
    """For layouts of installed packages, the function that builds it: `package.module:name`."""


LAYOUT_FACTS: Registry[LayoutFacts] = Registry(
    "layouts",
    {
        "padded": LayoutFacts(fixed_width=True),
        "aligned": LayoutFacts(fixed_width=True, digits_aligned=True),
        "descending": LayoutFacts(fixed_width=True, digits_aligned=True, lowest_first=False),
        "reversed": LayoutFacts(fixed_width=False),
        "level": LayoutFacts(fixed_width=False, levels_answers=True),
        "plain": LayoutFacts(fixed_width=False, tells_significance=False, lowest_first=False),
        "scratchpad": LayoutFacts(fixed_width=True, with_steps=True, modular=False),
    },
    kind=LayoutFacts,
)

ABSOLUTE, RELATIVE = "absolute", "relative"


class EncodingFacts(NamedTuple):
    """`couples_digits`: digits of equal significance share a position in every layout."""

    family: str | None
    layout: str
    couples_digits: bool = False
    implementation: str = ""
    """For encodings of installed packages, its class: `package.module:Name`."""


ENCODING_FACTS: Registry[EncodingFacts] = Registry(
    "encodings",
    {
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
    },
    kind=EncodingFacts,
)

RANDOMIZED = "randomized:"


def encoding_facts(name: str) -> EncodingFacts:
    """The facts of an encoding by name. A randomized one keeps its layout but belongs to no family."""
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
        raise unknown("layout", name, LAYOUT_FACTS)
    return LAYOUT_FACTS[name]


def check_layout(name: str, task: Task, encoding: str) -> str:
    """The name of a layout, checked to exist and to fit the task and the encoding."""
    facts = layout_facts(name)
    if task.modulus is not None and not facts.modular:
        fitting = ", ".join(other for other, own in LAYOUT_FACTS.working().items() if own.modular)
        raise InputError(f"layout {name!r} cannot be used for {task} (choose from {fitting})")
    if encoding_facts(encoding).couples_digits and not facts.tells_significance:
        fitting = ", ".join(other for other, own in LAYOUT_FACTS.working().items() if own.tells_significance)
        raise InputError(
            f"layout {name!r} cannot be combined with encoding {encoding!r}, which needs the significance of a "
            f"digit when it is written (choose from {fitting})"
        )
    return name
