"""Trained models that can be asked: described, loaded once for all who ask, and the queue of questions."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.explorer.queries import LOADED_MODELS, MAX_QUEUED_TOKENS, RefusedError
from lengthwise.explorer.runs import Entry, one_line, read_config, setting
from lengthwise.shipped import shipped_models

if TYPE_CHECKING:
    from lengthwise.runs.load import Run

FIRST_GUESS = 0.005
"""Seconds a token, until an answer has shown how long one takes."""


class ModelEntry(Entry):
    """A model that can be asked."""

    shipped: bool
    operation: str = ""
    symbol: str = ""
    sign: str = ""
    """The symbol as people write it: × for *."""
    trained_lengths: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    """The fewest and the most digits of a in training, and those of b."""
    operand_digits: int = 0
    """The longest operand it accepts."""
    headline: str = ""


def describe(name: str, path: Path) -> ModelEntry:
    """A model as its config describes it, without loading it."""
    from lengthwise.records.view import RunView
    from lengthwise.report.words import headline
    from lengthwise.runs import config as configs
    from lengthwise.theory.rules import find_rule

    shipped = name in shipped_models()
    try:
        config, view = configs.read_config(read_config(path), "config.json"), RunView.of(path)
        case = view.spec.beyond()
        rule = find_rule(case)
        return ModelEntry(
            name=name,
            shipped=shipped,
            **setting(view),
            operation=view.task.op.noun,
            symbol=view.task.symbol,
            sign=view.task.op.sign,
            trained_lengths=view.train.operand_lengths,
            operand_digits=config.operand_width,
            headline=headline(rule.hypothesis(case), rule.generalizes),
        )
    except Exception as error:  # one broken folder must not take the list with it
        return ModelEntry(name=name, shipped=shipped, error=one_line(error))


class Models:
    """The models asked last. A checkpoint that training has renewed since is loaded anew."""

    def __init__(self) -> None:
        self._loads: dict[tuple[Path, int], asyncio.Future[Run]] = {}

    async def get(self, path: Path) -> "Run":
        key = (path, _version(path))
        load = self._loads.pop(key, None) or asyncio.ensure_future(asyncio.to_thread(_load, path))
        # Last asked is last forgotten.
        self._loads[key] = load
        while len(self._loads) > LOADED_MODELS:
            self._loads.pop(next(iter(self._loads)))
        try:
            return await asyncio.shield(load)
        except Exception as error:  # whatever is wrong with a model, the page lives on
            self._loads.pop(key, None)
            raise RefusedError(f"this model does not load: {error}", field="model", status=409) from None


def _load(path: Path) -> "Run":
    from lengthwise.runs.load import load

    read_config(path)
    return load(path, device="cpu")


def _version(path: Path) -> int:
    try:
        return (path / "checkpoint" / "state.json").stat().st_mtime_ns
    except OSError:
        return 0


@dataclass(eq=False)
class Ticket:
    """A place in the queue, for a problem of this many tokens."""

    tokens: int
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    begun: float = 0.0


class Queue:
    """Questions to models: one is answered at a time, with all cores, in the order they came."""

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []
        self._pace = FIRST_GUESS

    @contextmanager
    def join(self, tokens: int) -> Iterator[Ticket]:
        """A place at the end, given up when its question is answered or nobody waits for it any more."""
        ticket, waiting = Ticket(tokens), sum(other.tokens for other in self._tickets)
        if self._tickets and waiting + tokens > MAX_QUEUED_TOKENS:
            why = f"too many questions are waiting (try again in about {self._pace * waiting:.0f} s)"
            raise RefusedError(why, status=429)
        self._tickets.append(ticket)
        self._call_first()
        try:
            yield ticket
        finally:
            self._tickets.remove(ticket)
            self._call_first()

    def _call_first(self) -> None:
        if self._tickets and not self._tickets[0].turn.is_set():
            self._tickets[0].begun = time.monotonic()
            self._tickets[0].turn.set()

    async def waiting(self, ticket: Ticket) -> AsyncIterator[dict[str, float]]:
        """How many questions are before this one, and about how long they take: every second, until its turn."""
        while not ticket.turn.is_set():
            before = self._tickets[: self._tickets.index(ticket)]
            seconds = self._pace * sum(other.tokens for other in before)
            yield {"position": len(before), "seconds": round(seconds, 1)}
            with suppress(TimeoutError):
                await asyncio.wait_for(ticket.turn.wait(), 1)

    def answered(self, ticket: Ticket) -> None:
        """A whole answer shows how long one takes."""
        self._pace = (self._pace + (time.monotonic() - ticket.begun) / ticket.tokens) / 2
