"""The question of a run: its task, training and test domains, encoding and layout; and what theory predicts for
it.

>>> config = {"task": "add", "base": 10, "train": "D4", "test": None, "encoding": "learned", "layout": None}
>>> spec = RunSpec.of({**config, "seed": 1})
>>> spec.layout, [str(domain) for domain in spec.tests][-1], str(spec.predicted_hypothesis(spec.tests[-1]))
('padded', 'D9', 'truncated:4')
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

from lengthwise.arithmetic import Domain, Task, default_test, parse_test_domains
from lengthwise.errors import InputError, shortened
from lengthwise.theory.encodings import ABSOLUTE, encoding_facts, layout_facts
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import Prediction, predict_case
from lengthwise.theory.rules import Case, find_rule

KEYS = ("task", "train", "test", "encoding", "layout", "base", "seed")

SECTIONS = ("model", "data", "training", "evaluation")

TEXTS = ("task", "train", "test", "encoding", "layout")

predict_once = lru_cache(maxsize=4096)(predict_case)
"""Cached, as all seeds of a row share their predictions, and some take seconds."""


@dataclass(frozen=True)
class RunSpec:
    task: Task
    train: Domain
    tests: tuple[Domain, ...]
    encoding: str
    layout: str
    seed: int
    config: Mapping[str, Any] = field(compare=False, repr=False)
    """The run's complete config, as in its JSON."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "RunSpec":
        """The spec of a run from the content of its config.json."""
        task, base = Task.parse(config["task"], config["base"]), config["base"]
        train, test, encoding = Domain.parse(config["train"], base), config["test"], config["encoding"]
        return cls(
            task=task,
            train=train,
            tests=tuple(parse_test_domains(default_test(train) if test is None else test, base)),
            encoding=encoding,
            layout=config["layout"] or encoding_facts(encoding).layout,
            seed=int(config["seed"]),
            config=config,
        )

    def measured_domains(self, tests: Sequence[Domain] | None = None) -> list[Domain]:
        """The domains to measure: the training domain and its lengths, which every verdict depends on, then the
        test domains (by default the run's)."""
        tested = self.tests if tests is None else tests
        return list(dict.fromkeys([self.train, *self.train.separate_parts(), *tested]))

    @property
    def positions(self) -> str:
        """The encoding, with a note where attention is position-only, or has content heads as well."""
        model = self.config.get("model", {})
        if not model.get("place_attention", False):
            return self.encoding
        return f"{self.encoding} by place" + (" and by tokens" if model.get("token_heads", 0) else "")

    @cached_property
    def question(self) -> str:
        """A hash that is equal for runs that differ only in their seed."""
        content = json.dumps({**self.config, "seed": None}, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def longer(self) -> list[Domain]:
        """The test domains with operands longer than in training."""
        return [domain for domain in self.tests if domain.length > self.train.length]

    def case(self, domain: Domain) -> Case:
        return Case(self.task, self.train, domain, self.encoding, self.layout)

    def beyond(self) -> Case:
        """The case of operands one digit longer than the longest in training."""
        return Case.beyond(self.task, self.train, self.encoding, self.layout)

    def predictions(self, domains: Sequence[Domain] | None = None) -> list[Prediction]:
        """The prediction for each domain, by default for the test domains."""
        return [predict_once(self.case(domain)) for domain in (self.tests if domains is None else domains)]

    def predicted_hypothesis(self, domain: Domain) -> Hypothesis | None:
        """The function that theory predicts on a domain, without counting its accuracy."""
        case = self.case(domain)
        return find_rule(case).hypothesis(case)

    def measured_hypothesis(self, domain: Domain) -> Hypothesis | None:
        """The function that answers are compared with besides truth: the predicted one, or, where there is none
        with absolute positions, truncation, as in the paper."""
        predicted = self.predicted_hypothesis(domain)
        absolute = encoding_facts(self.encoding).family == ABSOLUTE
        if predicted is None and absolute and layout_facts(self.layout).fixed_width:
            return Hypothesis("truncated", self.train.length)
        return predicted


def read_spec(content: Any) -> RunSpec:
    """The spec from any config.json, with an InputError that says what is wrong with it."""
    config = cast(dict[str, Any], content) if isinstance(content, dict) else {}
    missing = [key for key in KEYS if key not in config]
    if missing:
        raise InputError(f"config.json is not a run config: it has no {', '.join(missing)}")
    odd = [(key, "an object") for key in SECTIONS if not isinstance(config.get(key, {}), dict)]
    odd += [(key, "text") for key in TEXTS if not isinstance(config[key], str | None)]
    for key, kind in odd:
        value = shortened(repr(config[key]), 100, 20)
        raise InputError(f"config.json is not a run config: {key} is {value} (must be {kind})")
    try:
        return RunSpec.of(config)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"config.json is not a run config: {error}") from None
