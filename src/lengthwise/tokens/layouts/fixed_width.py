"""Layouts of fixed widths: numbers are zero-padded, so that every place means the same in all problems."""

from collections.abc import Sequence
from typing import final

from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.tokens.layouts.layout import Malformed, Problem, Tokens, listed
from lengthwise.tokens.layouts.places import A, B, C, Place, Places, number, problem


@final
class FixedWidth:
    """Writes all places of every problem."""

    fixed_width = True

    def __init__(self, places: Places) -> None:
        self.places, self.vocabulary = places, places.vocabulary
        self.operand_width, self.answer_width = places.operand_width, places.answer_width
        self.prompt_length, self.length = places.prompt_length, len(places.places)

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        slot, number, significance, answer = (table[: self.length] for table in self.places.tables(a.device))
        ids = self.places.pool(a, b, c).index_select(-1, slot)
        return Tokens(ids, answer, significance, number, self.prompt_length)

    def render(self, ids: Tensor | Sequence[int]) -> str:
        return self.vocabulary.text(listed(ids))

    def parse(self, text: str) -> Problem | Malformed:
        ids = self.vocabulary.ids(text.rstrip("\n"))
        if ids is None:
            return Malformed(f"{text!r} holds something else than tokens")
        reason = self._mismatch(ids, self.places.places)
        if reason is not None:
            return Malformed(reason)
        return Problem(*(self._value(ids, self.places.places, which) for which in (A, B, C)))

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        places = self.places.places[self.prompt_length :]
        tokens = listed(ids)[: len(places)]
        reason = self._mismatch(tokens, places)
        return self._value(tokens, places, C) if reason is None else Malformed(reason)

    def _mismatch(self, tokens: Sequence[int], places: Sequence[Place]) -> str | None:
        """What is wrong with tokens that should fill these places."""
        for token, place in zip(tokens, places, strict=False):
            if not self._fits(token, place):
                return f"{self.vocabulary.shown(token)} stands where {self.places.name(place)} should"
        if len(tokens) < len(places):
            return f"the tokens end where {self.places.name(places[len(tokens)])} should stand"
        return "the tokens go on after [eos]" if len(tokens) > len(places) else None

    def _fits(self, token: int, place: Place) -> bool:
        return 0 <= token < self.vocabulary.base if place.number else token == self.places.id(place)

    def _value(self, tokens: Sequence[int], places: Sequence[Place], which: int) -> int:
        digits = {p.significance: t for t, p in zip(tokens, places, strict=True) if p.number == which}
        return self.places.value([digits[i] for i in sorted(digits)])


def padded(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    """The paper's: `12+345=357` is written `012+345=7530`, operands natural and the answer reversed."""
    answer = number(C, answer_width)
    places = problem(operand_width, answer, natural=True)
    return FixedWidth(Places(task, operand_width, answer_width, places))


def aligned(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    """All numbers reversed: `12+345=357` is written `210+543=7530`.

    Digit i of a, b and c stand at the same distances for every i, as relative positions need it.
    """
    answer = number(C, answer_width)
    return FixedWidth(Places(task, operand_width, answer_width, problem(operand_width, answer)))
