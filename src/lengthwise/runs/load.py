"""Loading a trained run from its folder, and asking it problems."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lengthwise.arithmetic import Domain, Task, digit_count, in_base, pair_length
from lengthwise.errors import InputError
from lengthwise.evaluation.decode import decode_from
from lengthwise.evaluation.problems import read_problem
from lengthwise.records.folder import RunFolder
from lengthwise.runs.build import Module, Stack, build
from lengthwise.runs.config import RunConfig, read_config
from lengthwise.runs.machine import choose_device
from lengthwise.shipped import model_path, shipped_models
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.digits import from_ints, from_pairs
from lengthwise.tokens.layouts.layout import Malformed
from lengthwise.training.checkpoint import copy_into, load_state, load_tensors


@dataclass(frozen=True, repr=False)
class Answer:
    """A model's answer to a problem, with the truth and the prediction."""

    a: int
    b: int
    answered: int | Malformed
    truth: int
    hypothesis: Hypothesis | None
    predicted: int | None
    task: Task

    @property
    def right(self) -> bool:
        return self.answered == self.truth

    def as_json(self) -> dict[str, Any]:
        """The answer as JSON. Numbers are text in the model's base; `answered` is null if it is not a number."""

        def text(number: object) -> str | None:
            return in_base(number, self.task.base) if isinstance(number, int) else None

        return {
            "a": text(self.a),
            "b": text(self.b),
            "answered": text(self.answered),
            "truth": text(self.truth),
            "hypothesis": self.hypothesis and str(self.hypothesis),
            "predicted": text(self.predicted),
            "right": self.right,
        }

    def __repr__(self) -> str:
        found, base = self.as_json(), self.task.base
        predicted = "nothing" if self.predicted is None else f"{found['predicted']} ({self.hypothesis})"
        asked = f"{found['a']} {self.task.symbol} {found['b']}" + ("" if base == 10 else f" in base {base}")
        said = found["answered"] or "no number"
        return f"{asked}: the model answers {said}, truth is {found['truth']}, theory predicts {predicted}"


@dataclass(frozen=True)
class LoadedRun:
    folder: RunFolder
    config: RunConfig
    stack: Stack
    step: int

    def ask(self, problem: str | int, b: int | None = None) -> Answer:
        """Decode the answer to one problem: `run.ask(12, 5)`, or `run.ask("12 + 5")` in the run's base."""
        if isinstance(problem, str):
            return self.ask_all([read_problem(problem, self.config.spec.task)])[0]
        if b is None:
            raise InputError(f"missing second operand for {problem}")
        return self.ask_all([(problem, b)])[0]

    def ask_all(self, pairs: Sequence[tuple[int, int]]) -> list[Answer]:
        width, base = self.stack.layout.operand_width, self.config.base
        for number in (number for pair in pairs for number in pair):
            if not 0 <= number < base**width:
                what = number if number < 0 else f"a number of {digit_count(number, base)} digits"
                raise InputError(f"{what} is not an operand of this model (up to {width} digits)")
        self.check_answers(pairs)
        a, b = (digits.to(self.stack.device) for digits in from_pairs(pairs, width, base))
        # The answer is probably the predicted one, or the truth, so that one pass can check it.
        known = [self.compare(*pair, 0) for pair in pairs]
        expected = [one.truth if one.predicted is None else one.predicted for one in known]
        digits = from_ints(expected, self.stack.layout.answer_width, base).to(self.stack.device)[None]
        (answers,) = decode_from(self.stack, (a, b), digits)
        read = map(self.stack.layout.read_answer, answers)
        return [replace(one, answered=answer) for one, answer in zip(known, read, strict=True)]

    def check_answers(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Raise an InputError for problems whose answers are too long for the model."""
        largest = max(self.config.spec.task(a, b) for a, b in pairs)
        self.check_room(digit_count(largest, self.config.base), "an answer")

    def check_room(self, digits: int, what: str) -> None:
        """Raise an InputError for answers that are too long: the answer width of a run may rely on one operand
        being short."""
        room = self.stack.layout.answer_width
        if digits > room:
            raise InputError(f"{what} has {digits} digits, more than the {room} that this model writes")

    def compare(self, a: int, b: int, answered: int | Malformed) -> Answer:
        """An answer with truth and prediction."""
        task = self.config.spec.task
        domain = Domain.parse(f"D{pair_length(a, b, task.base)}", task.base)
        hypothesis = self.config.spec.predicted_hypothesis(domain)
        predicted = None if hypothesis is None else hypothesis(task, a, b)
        return Answer(a, b, answered, task(a, b), hypothesis, predicted, task)


def load(path: os.PathLike[str] | str, *, device: str = "auto", module: Module | None = None) -> LoadedRun:
    """The model of a run folder, from its last checkpoint, or a shipped one by its name. A run with a custom
    module needs the `module` that built it."""
    found = model_path(Path(path))
    if not found.exists():
        names = ", ".join(shipped_models())
        raise InputError(f"{path} is neither a run folder nor a shipped model (choose from {names})")
    folder = RunFolder.existing(found)
    config = read_config(folder.config(), f"{folder.path}/config.json")
    checkpoint = folder.checkpoint_path
    state = load_state(checkpoint)
    if state is None:
        raise InputError(f"{folder.path} has no checkpoint yet; train it first")
    own = own_module(folder)
    if own is not None and module is None:
        raise InputError(f"{folder.path} has a custom module; open it in Python with load(PATH, module={own})")
    stack = build([config], choose_device(device), [folder.name], module=module)
    tensors = load_tensors(checkpoint, state)
    weights = {k.removeprefix("model/"): v for k, v in tensors.items() if k.startswith("model/")}
    copy_into(dict(stack.model.state_dict()), weights, checkpoint)
    stack.model.eval()
    return LoadedRun(folder, config, stack, state.step)


OWN_MODULE = "module"
"""The key of environment.json that names a run's custom module."""


def own_module(folder: RunFolder) -> str | None:
    """The name of the run's custom module; None if the model is the config's."""
    facts = folder.environment()
    return facts.get(OWN_MODULE) if isinstance(facts, dict) else None
