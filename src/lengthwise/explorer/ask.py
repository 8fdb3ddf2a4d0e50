"""Ask: a model's answer to one problem, token by token, its attention, and the digits it depends on.

Long work runs in another thread, step by step, so that it can be cancelled after each step.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import anyio
import torch
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from torch import Tensor
from torch.nn import functional

from lengthwise.arithmetic import in_base
from lengthwise.evaluation.anatomy import sharpest, watch
from lengthwise.evaluation.decode import Reading, decode_from, prepare, write
from lengthwise.explorer import (
    ANSWER_SECONDS,
    LEAST_ATTENTION,
    LOOK_SECONDS,
    MAX_ATTENTION_TOKENS,
    MAX_DEPENDENCE_TOKENS,
    RefusedError,
    read_number,
)
from lengthwise.model.attention import AttentionHeads
from lengthwise.report.words import unlike_training
from lengthwise.runs.load import LoadedRun
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts.layout import A, B, C

OPERANDS = {A: "a", B: "b"}

ALTERNATIVES = 3
"""Number of most likely tokens reported, including the one written."""

ATTENTION_AT_ONCE = 128
"""Tokens whose attention is computed together; all tokens of a long problem at once would not fit into memory."""

ASKED_AT_ONCE = 64
"""Problems with a replaced digit that are answered in one batch."""

MOST_REPLACED_TOKENS = 15_000
"""Most tokens, with answers, of all problems with a replaced digit. Problems with many digits try fewer
replacements of each."""


@dataclass(frozen=True)
class AskedProblem:
    """A problem as a model reads it, and the positions of its answer's tokens."""

    run: LoadedRun
    pair: tuple[int, int]
    reading: Reading
    digit_numbers: list[int]
    """For each position of the answer, the number that a digit there belongs to."""
    operand_places: list[tuple[str, int] | None]
    """For each token read that is a digit, its operand and significance; else None."""

    @property
    def prompt_length(self) -> int:
        return self.reading.prompt.shape[-1]

    def sequence(self, answer: list[int]) -> tuple[Tensor, Tensor]:
        """Ids and positions [1, 1, T] of prompt and answer."""
        ids = torch.cat([self.reading.prompt, torch.tensor([[answer]])], -1)
        return ids, self.reading.positions_of(ids)


def read_problem(run: LoadedRun, a: str, b: str) -> AskedProblem:
    base, width = run.config.base, run.stack.layout.operand_width
    return read_operands(run, read_number(a, base, width, "a"), read_number(b, base, width, "b"))


def read_operands(run: LoadedRun, a: int, b: int) -> AskedProblem:
    layout, base = run.stack.layout, run.config.base
    pair = tuple(from_ints([number], layout.operand_width, base)[None] for number in (a, b))
    reading = prepare(run.stack, (pair[0], pair[1]))
    largest = pair[0].new_full((1, 1, layout.answer_width), base - 1)
    tokens, read = layout.encode(pair[0], pair[1], largest).spread(), reading.prompt.shape[-1]
    numbers, significances = tokens.number[0, 0].tolist(), tokens.significance[0, 0].tolist()
    places = [
        (OPERANDS[number], significance) if number in OPERANDS else None
        for number, significance in zip(numbers[:read], significances[:read], strict=True)
    ]
    return AskedProblem(run, (a, b), reading, numbers[read:], places)


class Written(NamedTuple):
    """A token of an answer. `kind` is digit (of the answer), step (before it) or symbol."""

    token: int
    text: str
    kind: str
    probability: float
    alternatives: list[tuple[str, float]]


def write_answer(problem: AskedProblem) -> Iterator[Written]:
    """The answer as the model writes it, up to its [eos]."""
    vocabulary = problem.run.stack.layout.vocabulary
    steps = write(problem.run.stack.model, problem.reading)
    for number, (logits, _) in zip(problem.digit_numbers, steps, strict=False):
        probabilities = logits[0, 0, 0].softmax(-1)[: len(vocabulary)]
        shares, tokens = probabilities.topk(ALTERNATIVES)
        names = [vocabulary.texts[token] for token in tokens.tolist()]
        token = int(tokens[0])
        kind = "symbol" if token >= vocabulary.base else "step" if number > C else "digit"
        yield Written(token, names[0], kind, float(shares[0]), list(zip(names, shares.tolist(), strict=True)))
        if token == vocabulary.eos:
            return


async def answer_lines(problem: AskedProblem, waiting: AsyncIterator[dict[str, float]]) -> AsyncIterator[str]:
    """Lines of JSON: the problem, its place in the queue, each token of the answer as it is written, and whether
    the answer is right."""
    run, layout = problem.run, problem.run.stack.layout
    known = run.compare(*problem.pair, run.config.spec.task(*problem.pair))
    yield _line(
        problem={
            "prompt": layout.render(problem.reading.prompt[0, 0]),
            **{key: known.as_json()[key] for key in ("truth", "hypothesis", "predicted")},
            "last_digit_first": run.config.spec.layout != "plain",
            "note": unlike_training(run.config.spec.train, *problem.pair),
        }
    )
    async for wait in waiting:
        yield _line(waiting=wait)
    tokens: list[int] = []
    end = time.monotonic() + ANSWER_SECONDS
    async for written in iterate_in_threadpool(write_answer(problem)):
        tokens.append(written.token)
        yield _line(token={key: value for key, value in written._asdict().items() if key != "token"})
        if time.monotonic() > end:
            yield _line(error=f"the answer takes longer than the {ANSWER_SECONDS:g} s allowed here")
            return
    found = replace(known, answered=layout.read_answer(tokens))
    yield _line(
        answer={
            **{key: found.as_json()[key] for key in ("answered", "right")},
            "malformed": None if isinstance(found.answered, int) else found.answered.reason,
            "as_predicted": None if found.predicted is None else found.answered == found.predicted,
        }
    )


def _line(**content: Any) -> str:
    return json.dumps(content) + "\n"


async def answer_within(problem: AskedProblem, most: int) -> list[int]:
    """The tokens of the answer. Refused where prompt and answer have more than `most` tokens."""
    answer: list[int] = []
    with look_limit():
        async for written in iterate_in_threadpool(write_answer(problem)):
            answer.append(written.token)
            if problem.prompt_length + len(answer) > most:
                raise RefusedError(_too_long(problem, most))
    return answer


@contextmanager
def look_limit() -> Iterator[None]:
    try:
        with anyio.fail_after(LOOK_SECONDS):
            yield
    except TimeoutError:
        raise RefusedError(f"this model is too slow for a look inside (at most {LOOK_SECONDS:g} s)") from None


def _too_long(problem: AskedProblem, most: int) -> str:
    layout = problem.run.stack.layout
    why = (
        f"this model reads {layout.operand_width} digits of each number, however short"
        if layout.fixed_width
        else "these numbers are long"
    )
    return f"{why}, and more than {most:,} tokens (problem and answer together) take too long here"


async def attention(problem: AskedProblem) -> dict[str, Any]:
    """What each token of the answer attended to when it was written."""
    answer = await answer_within(problem, MAX_ATTENTION_TOKENS)
    layers = await run_in_threadpool(answer_attention, problem, answer)
    ids, texts = problem.sequence(answer)[0][0, 0].tolist(), problem.run.stack.layout.vocabulary.texts
    is_long = len(ids) > MAX_DEPENDENCE_TOKENS
    return {
        "tokens": [texts[token] for token in ids],
        "prompt_length": problem.prompt_length,
        "places": problem.operand_places,
        "layers": [visible_weights(layer) for layer in layers],
        "nothing": [_on_nothing(layer) for layer in layers] if problem.run.config.model.place_attention else None,
        # The page shows this layer first: it tells best which digits are read, while the last layer's attention is
        # often nearly uniform. It is the same layer for all digits, so that it stays when the user moves on.
        "sharpest": sharpest(layers),
        "no_dependence": _too_long(problem, MAX_DEPENDENCE_TOKENS) if is_long else None,
    }


def answer_attention(problem: AskedProblem, answer: list[int]) -> list[Tensor]:
    """[A, T] of each layer: the attention, averaged over heads, at the positions that wrote the answer."""
    ids, positions = problem.sequence(answer)
    _, layers = watch(problem.run.stack.model, ids, positions)
    # The token at position t was written at position t - 1.
    return [_rows(layer, problem.prompt_length - 1, ids.shape[-1] - 1) for layer in layers]


def _rows(layer: AttentionHeads, first: int, last: int) -> Tensor:
    rows: list[Tensor] = []
    for start in range(first, last, ATTENTION_AT_ONCE):
        some = layer.weights(start, min(start + ATTENTION_AT_ONCE, last))[0, 0].mean(0)
        rows.append(functional.pad(some, (0, layer.tokens - some.shape[-1])))
    return torch.cat(rows)


def _on_nothing(weights: Tensor) -> list[float]:
    """For each row of [A, T], the attention on no token: on the null key, or clipped."""
    return [round(share, 4) for share in (1 - weights.sum(-1)).clamp(min=0).tolist()]


def visible_weights(weights: Tensor) -> list[list[tuple[int, float]]]:
    """For each row of [A, T], the positions with at least LEAST_ATTENTION, with their weights."""
    rows: list[list[tuple[int, float]]] = [[] for _ in weights]
    for row, place in (weights >= LEAST_ATTENTION).nonzero().tolist():
        rows[row].append((place, round(float(weights[row, place]), 4)))
    return rows


async def dependence(problem: AskedProblem) -> dict[str, Any]:
    """Which digits of the operands change each token of the answer when they are replaced.

    One cause for each digit of a and of b that the model reads, including leading zeros, least significant first.
    """
    answer = await answer_within(problem, MAX_DEPENDENCE_TOKENS)
    places = [(name, significance - 1) for name, significance in sorted(filter(None, problem.operand_places))]
    each = max(1, MOST_REPLACED_TOKENS // (len(places) * (problem.prompt_length + len(answer))))
    variants = {place: _variants(problem, *place, each) for place in places}
    asked = [pair for pairs in variants.values() for pair in pairs]
    with look_limit():
        batches = [batch async for batch in iterate_in_threadpool(_answers(problem.run, asked))]
    answers = (tokens for batch in batches for tokens in batch)
    causes = [
        {
            "operand": name,
            "significance": place + 1,
            "digit": in_base(_digit(problem, name, place), problem.run.config.base),
            "changes": _changed(answer, [next(answers) for _ in pairs]),
        }
        for (name, place), pairs in variants.items()
    ]
    return {"causes": causes}


def _digit(problem: AskedProblem, name: str, place: int) -> int:
    base = problem.run.config.base
    return problem.pair["ab".index(name)] // base**place % base


def _variants(problem: AskedProblem, name: str, place: int, most: int) -> list[tuple[int, int]]:
    """The problem with one digit replaced. Where numbers are not padded, none gets shorter."""
    (a, b), base, old = problem.pair, problem.run.config.base, _digit(problem, name, place)
    number, unit = (a if name == "a" else b), base**place
    is_leading = place and number < unit * base
    lowest = 1 if is_leading and not problem.run.stack.layout.fixed_width else 0
    others = [digit for digit in range(lowest, base) if digit != old]
    # Spread evenly over the possible digits.
    chosen = others if len(others) <= most else [others[k * len(others) // most] for k in range(most)]
    changed = [number + (digit - old) * unit for digit in chosen]
    return [(other, b) if name == "a" else (a, other) for other in changed]


def _answers(run: LoadedRun, pairs: list[tuple[int, int]]) -> Iterator[list[list[int]]]:
    """The model's answers, batch by batch. Answers equal to the truth take one pass."""
    layout, base = run.stack.layout, run.config.base
    # A truth too long for the layout is cut: any guess will do.
    room = base**layout.answer_width
    for start in range(0, len(pairs), ASKED_AT_ONCE):
        some = pairs[start : start + ASKED_AT_ONCE]
        a, b = (from_ints(list(own), layout.operand_width, base)[None] for own in zip(*some, strict=True))
        guess = from_ints([run.config.spec.task(*pair) % room for pair in some], layout.answer_width, base)[None]
        yield decode_from(run.stack, (a, b), guess)[0].tolist()


def _changed(answer: list[int], others: list[list[int]]) -> list[float]:
    if not others:
        return [0.0] * len(answer)
    return [sum(other[i] != token for other in others) / len(others) for i, token in enumerate(answer)]
