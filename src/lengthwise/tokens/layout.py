"""Numbers as tokens: which ids stand for a problem, and what a model may know of each token.

>>> from lengthwise.tokens.digits import from_ints
>>> layout = build_layout("padded", Task.parse("add"), operand_width=3)
>>> ids = layout.encode(*(from_ints([n], layout.operand_width, 10) for n in (12, 345, 357))).ids
>>> layout.render(ids[0])
'[bos]012+345=7530;[eos]'
>>> layout.parse("[bos]012+345=7530;[eos]")
Problem(a=12, b=345, c=357)
>>> layout.read_answer([7, 5, 3, 10, 12, 14])
Malformed(reason="'+' stands where digit 4 of the answer should")

Shapes: T tokens of a problem, W operand digits, A answer digits; ... any leading dims.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError
from lengthwise.tokens.digits import to_ints

DIGIT_TEXT = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Vocabulary:
    """Ids 0 .. base-1 are the digits, then come the operator, =, ;, [bos], [eos] and the line break.

    Both operators share an id: a model has one task. The line break also pads.
    """

    base: int
    symbol: str = "+"

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return (*DIGIT_TEXT[: self.base], self.symbol, "=", ";", "[bos]", "[eos]", "\n")

    def __len__(self) -> int:
        return self.base + 6

    @property
    def operator(self) -> int:
        return self.base

    @property
    def equals(self) -> int:
        return self.base + 1

    @property
    def end(self) -> int:
        return self.base + 2

    @property
    def bos(self) -> int:
        return self.base + 3

    @property
    def eos(self) -> int:
        return self.base + 4

    @property
    def line_break(self) -> int:
        return self.base + 5

    def text(self, ids: Iterable[int]) -> str:
        return "".join(self.texts[i] for i in ids)

    def shown(self, token: int) -> str:
        """A token as a message names it; a model's padded logits may yield one that does not exist."""
        return repr(self.texts[token]) if 0 <= token < len(self) else f"token {token}"

    def ids(self, text: str) -> list[int] | None:
        """The tokens of a text; None if it holds anything else."""
        found: list[int] = []
        while text:
            token = next((i for i, own in enumerate(self.texts) if text.startswith(own)), None)
            if token is None:
                return None
            found.append(token)
            text = text[len(self.texts[token]) :]
        return found


class Tokens(NamedTuple):
    """A batch of problems as tokens. Where a layout is fixed, all but the ids are [T] and broadcast.

    ids            int64, one per token
    answer         bool: the tokens a model must produce, c's digits, ; and [eos]
    significance   int64: 1, 2, .. for digits from the least significant, 0 for operator and =, else -1
    number         int64: 1, 2, 3 for digits of a, b, c, else 0
    prompt_length  how many tokens precede the answer; a tensor [...] where problems differ in it
    """

    ids: Tensor
    answer: Tensor
    significance: Tensor
    number: Tensor
    prompt_length: int | Tensor


class Problem(NamedTuple):
    a: int
    b: int
    c: int


class Malformed(NamedTuple):
    reason: str


class Layout(Protocol):
    """How a problem becomes tokens. `length` is the longest sequence; shorter ones end in line breaks."""

    vocabulary: Vocabulary
    operand_width: int
    answer_width: int
    length: int

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens: ...

    def render(self, ids: Tensor | Sequence[int]) -> str: ...

    def parse(self, text: str) -> Problem | Malformed: ...

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed: ...


class Padded:
    """`[bos] a + b = c ; [eos]` at fixed widths: operands natural, answer reversed, all zero-padded."""

    def __init__(self, task: Task, operand_width: int, answer_width: int) -> None:
        self.vocabulary = Vocabulary(task.base, task.symbol)
        self.operand_width, self.answer_width = operand_width, answer_width
        self.prompt_length = 2 * operand_width + 3
        self.length = self.prompt_length + answer_width + 2
        self._marks: dict[torch.device, Tokens] = {}

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        """Digits [..., up to W] and answers [..., up to A] as tokens [..., T]."""
        marks = self._on(a.device)
        width, start = self.operand_width, self.prompt_length
        for name, digits, allowed in (("a", a, width), ("b", b, width), ("c", c, self.answer_width)):
            if digits.shape[-1] > allowed:
                raise InputError(f"{name} has {digits.shape[-1]} digits: allowed are up to {allowed}")
        ids = marks.ids.repeat(*a.shape[:-1], 1)
        ids[..., 1 + width - a.shape[-1] : 1 + width] = a.flip(-1)
        ids[..., start - 1 - b.shape[-1] : start - 1] = b.flip(-1)
        ids[..., start : start + c.shape[-1]] = c
        return marks._replace(ids=ids)

    def render(self, ids: Tensor | Sequence[int]) -> str:
        return self.vocabulary.text(_listed(ids))

    def parse(self, text: str) -> Problem | Malformed:
        ids = self.vocabulary.ids(text.rstrip("\n"))
        if ids is None:
            return Malformed(f"{text!r} holds something else than tokens")
        reason = self._mismatch(ids, 0)
        if reason is not None:
            return Malformed(reason)
        b_end, a_end = self.prompt_length - 1, self.operand_width + 1
        a, b, c = ids[1:a_end], ids[a_end + 1 : b_end], ids[self.prompt_length : -2]
        return Problem(self._value(a[::-1]), self._value(b[::-1]), self._value(c))

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        """The number in the tokens after =; what follows its [eos] is not read."""
        tokens = _listed(ids)[: self.answer_width + 2]
        reason = self._mismatch(tokens, self.prompt_length)
        return self._value(tokens[: self.answer_width]) if reason is None else Malformed(reason)

    def _mismatch(self, tokens: list[int], start: int) -> str | None:
        """What is wrong with tokens that should be those from `start` on."""
        expected = self._places[start:]
        for token, place in zip(tokens, expected, strict=False):
            if not (0 <= token < self.vocabulary.base if place.number else token == place.id):
                return f"{self.vocabulary.shown(token)} stands where {self._name(place)} should"
        if len(tokens) < len(expected):
            return f"the tokens end where {self._name(expected[len(tokens)])} should stand"
        return "the tokens go on after [eos]" if len(tokens) > len(expected) else None

    def _name(self, place: "_Place") -> str:
        if place.number == 0:
            return self.vocabulary.shown(place.id)
        return f"digit {place.significance} of {('a', 'b', 'the answer')[place.number - 1]}"

    def _value(self, digits: list[int]) -> int:
        """Least significant first. Python's int() stops at 4300 digits."""
        return to_ints(torch.tensor(digits), self.vocabulary.base)[0]

    @cached_property
    def _places(self) -> list["_Place"]:
        v, width = self.vocabulary, self.operand_width
        natural = range(width, 0, -1)
        return [
            _Place(v.bos),
            *(_Place(0, 1, i) for i in natural),
            _Place(v.operator, 0, 0),
            *(_Place(0, 2, i) for i in natural),
            _Place(v.equals, 0, 0),
            *(_Place(0, 3, i) for i in range(1, self.answer_width + 1)),
            _Place(v.end),
            _Place(v.eos),
        ]

    def _on(self, device: torch.device) -> Tokens:
        """Everything that is the same for all problems, held on the device."""
        if device not in self._marks:
            table = torch.tensor(self._places, device=device)
            answer = torch.arange(self.length, device=device) >= self.prompt_length
            self._marks[device] = Tokens(table[:, 0], answer, table[:, 2], table[:, 1], self.prompt_length)
        return self._marks[device]


class _Place(NamedTuple):
    """One token of a fixed layout; digits are zero until a problem fills them."""

    id: int
    number: int = 0
    significance: int = -1


LAYOUTS: dict[str, Callable[[Task, int, int], Layout]] = {"padded": Padded}
"""A user's own layout registers here: built from a task and both widths."""


def build_layout(name: str, task: Task, operand_width: int, answer_width: int | None = None) -> Layout:
    """By default the answer has room for every answer of operands of the given width."""
    if name not in LAYOUTS:
        raise InputError(f"unknown layout {name!r}: allowed are {', '.join(LAYOUTS)}")
    needed = task.answer_digits(operand_width)
    return LAYOUTS[name](task, operand_width, needed if answer_width is None else answer_width)


def _listed(ids: Tensor | Sequence[int]) -> list[int]:
    return ids.tolist() if isinstance(ids, Tensor) else list(ids)
