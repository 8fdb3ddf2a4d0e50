"""Text models: problems as prompts, answers read from text, records, and the function that answers follow.

>>> prompts = Prompts(Task.parse("add"), "spaced", examples=[(1, 2)])
>>> prompts(34, 5)
'1 + 2 = 3\\n34 + 5 ='
>>> [read_number(text, 10) for text in (" 39\\n12 + 1", "1,039.", "39.5", "is 39")]
[39, 1039, None, None]
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task, in_base
from lengthwise.errors import InputError
from lengthwise.evaluation.measure import row_makers
from lengthwise.evaluation.problems import Drawing, Member, Problems, test_problems
from lengthwise.evaluation.strata import pair_lengths
from lengthwise.progress import Watch, unwatched
from lengthwise.records.schema import Record
from lengthwise.records.spec import RunSpec
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.chains import longest_chain
from lengthwise.tokens.digits import to_pairs
from lengthwise.tokens.layouts.layout import Malformed
from lengthwise.tokens.sampling import Sampler, Stream

CPU = torch.device("cpu")

MOST_EXAMPLES = 1000

TEMPLATES = {
    "equation": ("{a}{symbol}{b}=", "({a}{symbol}{b})%{modulus}="),
    "spaced": ("{a} {symbol} {b} = ", "({a} {symbol} {b}) mod {modulus} = "),
    "question": ("Q: What is {a} {symbol} {b}?\nA: ", "Q: What is ({a} {symbol} {b}) mod {modulus}?\nA: "),
}
"""Prompt templates for tasks without and with a modulus."""


class TextModel(Protocol):
    """A model from prompts to text. A model of ids and logits is a `Subject` instead."""

    def __call__(self, prompts: Sequence[str], digits: int) -> list[str]:
        """What the model writes after each prompt, long enough for a number of this many digits."""
        ...


@dataclass(frozen=True)
class Prompts:
    """Writes problems as prompts, by a template or its name, after examples with their answers. `{a:0>10}` pads a
    to ten digits; `reverse` writes and reads answers with the lowest digit first."""

    task: Task
    template: str = "equation"
    examples: Sequence[tuple[int, int]] = ()
    reverse: bool = False

    def __post_init__(self) -> None:
        try:
            shown = self._problem(1, 2) != self._problem(3, 2) != self._problem(3, 4)
        except (KeyError, IndexError, ValueError, AttributeError):
            shown = False
        if not shown:
            names = ", ".join(TEMPLATES)
            raise InputError(
                f"invalid template {self.template!r} (a text with {{a}} and {{b}}, or one of {names})"
            )

    def __call__(self, a: int, b: int) -> str:
        before = [f"{self._problem(x, y)}{self._answer(x, y)}\n" for x, y in self.examples]
        # In most tokenizers a space belongs to the word after it, so a prompt must not end in one.
        return "".join(before) + self._problem(a, b).rstrip(" ")

    def read(self, text: str) -> int | None:
        return read_number(text, self.task.base, reverse=self.reverse)

    def _answer(self, a: int, b: int) -> str:
        return in_base(self.task(a, b), self.task.base)[:: -1 if self.reverse else 1]

    def _problem(self, a: int, b: int) -> str:
        task, named = self.task, TEMPLATES.get(self.template, (self.template, self.template))
        text = named[task.modulus is not None]
        a_text, b_text = in_base(a, task.base), in_base(b, task.base)
        return text.format(a=a_text, b=b_text, symbol=task.symbol, modulus=task.modulus)


def read_number(text: str, base: int, *, reverse: bool = False) -> int | None:
    """The number that a text begins with; None where it begins with anything else."""
    match = re.match(r"\s*([0-9]{1,3}(?:,[0-9]{3})+|[0-9A-Za-z]+)(?![\w,]|\.\w)", text)
    digits = "" if match is None else match[1].replace(",", "")
    try:
        return int(digits[::-1] if reverse else digits, base)
    except ValueError:
        return None


@dataclass(frozen=True)
class Answered:
    """Problems of a domain, in base `base`, and a model's answers, which need not be numbers."""

    problems: Problems
    answers: Sequence[int | Malformed | None]
    base: int

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        return to_pairs(self.problems.pair, self.base)

    def matches(self, hypothesis: Hypothesis, task: Task) -> list[bool]:
        """Whether each answer equals that of the hypothesis."""
        pairs = zip(self.pairs, self.answers, strict=True)
        return [hypothesis(task, a, b) == answer for (a, b), answer in pairs]


def examples(spec: RunSpec, count: int) -> list[tuple[int, int]]:
    """Problems to show as examples, from the training domain without held-out pairs."""
    if not 0 <= count <= MOST_EXAMPLES:
        raise InputError(f"shots is {count} (must be 0 to {MOST_EXAMPLES})")
    sampler = Sampler([Stream(spec.seed, spec.train)], spec.train.length, side="train")
    return to_pairs(sampler(torch.arange(count)), spec.task.base) if count else []


def ask(
    model: TextModel, spec: RunSpec, prompts: Prompts, problems: int = 1000, watch: Watch = unwatched
) -> list[Answered]:
    """Answers to test problems of every domain that verdicts need."""
    domains, base = spec.measured_domains(), spec.task.base
    width = max(domain.length for domain in domains)
    drawing, digits = Drawing([spec.seed], width, base, problems, CPU), spec.task.answer_digits(width)
    found: list[Answered] = []
    for done, domain in enumerate(domains):
        watch(done, len(domains))
        chosen = test_problems(domain, drawing, whole=problems)
        texts = model([prompts(a, b) for a, b in to_pairs(chosen.pair, base)], digits)
        found.append(Answered(chosen, [prompts.read(text) for text in texts], base))
    return found


def text_records(
    spec: RunSpec, name: str, found: Iterable[Answered], *, reverse: bool = False
) -> Iterator[Record]:
    """Records of exact match. A greedily decoded answer equals a reference exactly if teacher forcing finds it, so
    these counts hold for both modes."""
    member, task = Member(name, spec.seed, spec.task, spec.train), spec.task
    for answered in found:
        (make,) = row_makers([member], answered.problems)
        decoded, domain = partial(make, mode="decoded"), Domain.parse(answered.problems.name, task.base)
        truth = [task(a, b) for a, b in answered.pairs]
        for hypothesis in dict.fromkeys([TRUTH, spec.measured_hypothesis(domain) or TRUTH]):
            against = partial(make, reference=str(hypothesis))
            yield against(correct=sum(answered.matches(hypothesis, task)))
            if hypothesis != TRUTH:
                coinciding = replace(answered, answers=truth).matches(hypothesis, task)
                yield against(metric="coincides", correct=sum(coinciding))
        answers = zip(truth, answered.answers, strict=True)
        ways = Counter(_way(x, y, task.base, reverse) for x, y in answers)
        always = dict.fromkeys(("exact", "malformed", "wrong_length"), 0)
        for way, count in {**always, **ways}.items():
            yield decoded(metric=way, correct=count)


def _way(truth: int, answer: int | Malformed | None, base: int, reverse: bool) -> str:
    """Whether an answer is right, or how it is wrong, as a metric of decoded answers."""
    if not isinstance(answer, int):
        return "malformed"
    right, written = in_base(truth, base), in_base(answer, base)
    if len(right) != len(written):
        return "wrong_length"
    differing = [len(right) - i for i, (x, y) in enumerate(zip(right, written, strict=True)) if x != y]
    return f"first_wrong:{differing[-1 if reverse else 0]}" if differing else "exact"


# --- which function? ----------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The function that agrees with most answers to some problems; of several, the first candidate."""

    where: str
    total: int
    malformed: int
    right: int
    function: Hypothesis | None
    agrees: int


def candidates(task: Task, longest: int) -> list[Hypothesis]:
    """The hypotheses to search: truth, then truncated, windowed, leading and folded ones of all sizes."""
    kinds = ["truncated", "windowed", "leading", "folded"]
    if not task.op.has_carries:
        kinds.remove("windowed")
    return [TRUTH, *(Hypothesis(kind, size) for kind in kinds for size in pair_lengths(longest))]


def find_functions(task: Task, found: Sequence[Answered]) -> list[Found]:
    """The closest function by test domain, for sums also by longest carry chain, and for all answers together."""
    names = candidates(task, max(answered.problems.a.shape[-1] for answered in found))
    matches = torch.tensor([[match for one in found for match in one.matches(name, task)] for name in names])
    malformed = torch.tensor([not isinstance(answer, int) for one in found for answer in one.answers])
    every = torch.arange(len(malformed))
    domains = every.split([len(one.answers) for one in found])
    groups = [(one.problems.name, chosen) for one, chosen in zip(found, domains, strict=True)]
    if task.op.has_carries:
        chains = torch.cat([longest_chain(*one.problems.pair, task.base)[0].cpu() for one in found])
        groups += [(f"chain {length}", every[chains == length]) for length in chains.unique().tolist()]
    return [_best(where, names, matches[:, i], malformed[i]) for where, i in [*groups, ("all", every)]]


def _best(where: str, names: Sequence[Hypothesis], matches: Tensor, malformed: Tensor) -> Found:
    counts = matches.sum(1).tolist()
    most = max(counts)
    function = names[counts.index(most)] if most else None
    return Found(where, len(malformed), int(malformed.sum()), counts[0], function, most)
