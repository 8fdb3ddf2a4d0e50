"""The interface of layouts: a vocabulary, and places for tokens in the order they are written.

>>> Vocabulary(10).text([13, 1, 2, 10, 3, 11, 5, 1, 12, 14])
'[bos]12+3=51;[eos]'

A *place* is that of a symbol or of a digit. Its id comes from a row of candidates, the *pool*: the digits of a, b
and c, those of intermediate steps if there are any, and the symbols.

Shapes: T tokens of a problem, or places, W operand digits, A answer digits, S = 2 W + A + steps + 6 candidates;
... any leading dims.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.arithmetic.task import DIGITS
from lengthwise.errors import InputError
from lengthwise.tokens.digits import resize, to_ints


class Vocabulary:
    """Ids 0 .. base-1 are the digits, followed by the operator, =, ;, [bos], [eos] and the line break.

    All operators share an id, as a model has one task. The line break is used only for padding.
    """

    def __init__(self, base: int, symbol: str = "+") -> None:
        self.base = base
        self.texts = (*DIGITS[:base], symbol, "=", ";", "[bos]", "[eos]", "\n")
        self.operator, self.equals, self.end, self.bos, self.eos, self.line_break = range(base, base + 6)

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, ids: Iterable[int]) -> str:
        return "".join(self.texts[i] for i in ids)

    def shown(self, token: int) -> str:
        """A token as messages name it; a model's padded logits may give one that does not exist."""
        return repr(self.texts[token]) if 0 <= token < len(self) else f"token {token}"

    def ids(self, text: str) -> list[int] | None:
        """The tokens of a text; None if it contains anything else."""
        found = re.findall("|".join(map(re.escape, self.texts)), text)
        return [self.texts.index(token) for token in found] if "".join(found) == text else None


class Tokens(NamedTuple):
    """A batch of problems as tokens. In layouts of fixed width, everything but the ids is [T] and broadcasts.

    ids            int64, one per token
    answer         bool: the tokens a model must produce, all from the one after = to [eos]
    significance   int64: 1, 2, .. for digits from the least significant, 0 for operator and =, else -1
    number         int64: 1, 2, 3 for digits of a, b, c, more for digits of intermediate steps, else 0
    """

    ids: Tensor
    answer: Tensor
    significance: Tensor
    number: Tensor

    @property
    def prompt_length(self) -> Tensor:
        """The number of tokens before the answer: [...], or [] where it is the same for all."""
        return (self.answer.cumsum(-1) == 0).sum(-1)

    def spread(self) -> "Tokens":
        """The same tokens with every field expanded to [..., T]."""
        return Tokens(*(part.expand(self.ids.shape) for part in self))


class Malformed(NamedTuple):
    reason: str


class Layout(Protocol):
    """How a problem becomes tokens.

    `length` is that of the longest sequence; shorter ones end in line breaks, which are used nowhere else. 0 and 0
    with the answer 0 give the shortest prompt and the shortest sequence. The significance and number of an
    answer's token depend only on its position in the answer and on whether it is a digit, so that they are known
    as soon as the token is written.
    """

    vocabulary: Vocabulary
    operand_width: int
    answer_width: int
    length: int
    fixed_width: bool
    """Whether every problem has the same places."""

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        """Digits [..., up to W] and answers [..., up to A], least significant first, as tokens [..., T]."""
        ...

    def render(self, ids: Tensor | Sequence[int]) -> str: ...

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        """The number in the tokens after =; tokens after its [eos] are ignored."""
        ...


def listed(ids: Tensor | Sequence[int]) -> list[int]:
    return ids.tolist() if isinstance(ids, Tensor) else list(ids)


A, B, C, SUM, CARRY = 1, 2, 3, 4, 5
"""Numbers whose digits have places; the last two are the intermediate steps of a scratchpad."""

OPERATOR, EQUALS, END, BOS, EOS, LINE_BREAK = range(6)


class Place(NamedTuple):
    """A place for a token. `source` is the index of its id among the candidates of its kind: digits of one number,
    or symbols."""

    number: int
    significance: int
    source: int


def symbol(kind: int) -> Place:
    return Place(0, 0 if kind in (OPERATOR, EQUALS) else -1, kind)


def number(which: int, width: int, *, natural: bool = False) -> list[Place]:
    """The digits of a number, least significant first unless in natural order."""
    places = [Place(which, i + 1, i) for i in range(width)]
    return places[::-1] if natural else places


def problem(operand_width: int, answer: Sequence[Place], *, natural: bool = False) -> list[Place]:
    """`[bos] a + b = answer ; [eos]`"""
    return [
        symbol(BOS),
        *number(A, operand_width, natural=natural),
        symbol(OPERATOR),
        *number(B, operand_width, natural=natural),
        symbol(EQUALS),
        *answer,
        symbol(END),
        symbol(EOS),
    ]


class PlacedLayout:
    """Base class of layouts that are lists of places. Their tables are cached for each device.

    `steps` computes the digits of intermediate steps from operands [..., W], if the layout has them.
    """

    def __init__(
        self,
        task: Task,
        operand_width: int,
        answer_width: int,
        places: Sequence[Place],
        *,
        steps: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        self.vocabulary = Vocabulary(task.base, task.symbol)
        self.operand_width, self.answer_width = operand_width, answer_width
        self.places, self.steps, self.length = places, steps, len(places)
        self.prompt_length = next(i for i, place in enumerate(places) if place == symbol(EQUALS)) + 1
        b, c = operand_width, 2 * operand_width
        end, step_count = c + answer_width, sum(place.number in (SUM, CARRY) for place in places)
        self.starts = {A: 0, B: b, C: c, SUM: end, CARRY: end, 0: end + step_count}
        self._tables: dict[torch.device, Tokens] = {}

    def render(self, ids: Tensor | Sequence[int]) -> str:
        return self.vocabulary.text(listed(ids)).rstrip("\n")

    def pool(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        """The candidates [..., S]."""
        width = self.operand_width
        for name, digits, allowed in (("a", a, width), ("b", b, width), ("c", c, self.answer_width)):
            if digits.shape[-1] > allowed:
                raise InputError(f"{name} has {digits.shape[-1]} digits (up to {allowed})")
        a, b, c = resize(a, width), resize(b, width), resize(c, self.answer_width)
        steps = [] if self.steps is None else [self.steps(a, b)]
        base = self.vocabulary.base
        symbols = torch.arange(base, len(self.vocabulary), dtype=a.dtype, device=a.device)
        return torch.cat([a, b, c, *steps, symbols.expand(*a.shape[:-1], -1)], -1).long()

    def tables(self, device: torch.device) -> Tokens:
        """The facts of all places [T] and, last, of the line break that pads. Instead of ids it has each place's
        index in the pool."""
        if device not in self._tables:
            places = [*self.places, symbol(LINE_BREAK)]
            slots = [self.starts[place.number] + place.source for place in places]
            table = torch.tensor(places, device=device)
            index = torch.arange(len(places), device=device)
            answer = (index >= self.prompt_length) & (index < self.length)
            self._tables[device] = Tokens(torch.tensor(slots, device=device), answer, table[:, 1], table[:, 0])
        return self._tables[device]

    def read_places(self, tokens: Sequence[int], places: Sequence[Place]) -> int | Malformed:
        """The answer in the tokens that should fill these places, all places after the prompt."""
        for token, place in zip(tokens, places, strict=False):
            if not self._fits(token, place):
                return Malformed(f"{self.vocabulary.shown(token)} stands where {self._name(place)} should")
        if len(tokens) < len(places):
            return Malformed(f"the tokens end where {self._name(places[len(tokens)])} should stand")
        digits = {place.source: token for token, place in zip(tokens, places, strict=True) if place.number == C}
        # Python's int() refuses more than 4,300 digits.
        return to_ints(torch.tensor([digits[i] for i in range(len(digits))]), self.vocabulary.base)[0]

    def _fits(self, token: int, place: Place) -> bool:
        return 0 <= token < self.vocabulary.base if place.number else token == self.vocabulary.base + place.source

    def _name(self, place: Place) -> str:
        if place.number == 0:
            return self.vocabulary.shown(self.vocabulary.base + place.source)
        if place.number in (SUM, CARRY):
            return f"a digit of {'sum' if place.number == SUM else 'carry'} {place.significance}"
        return f"digit {place.significance} of the answer"
