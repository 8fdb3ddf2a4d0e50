"""Fixed sets of samples: how many a mixture really has of each part, and the tenth that training never meets."""

from collections.abc import Sequence

import torch

from lengthwise.evaluation.failures import Pair
from lengthwise.evaluation.measure import Row, ask, measure
from lengthwise.evaluation.problems import Problems
from lengthwise.evaluation.score import Subject
from lengthwise.evaluation.seen import MeasuredMember
from lengthwise.records.schema import Record
from lengthwise.runs.build import Parts
from lengthwise.runs.config import RunConfig
from lengthwise.tokens.fixed import FixedSet

Counts = dict[str, tuple[int, int]]
"""By part: problems that are trained on, and problems held out."""


def fixed_set(config: RunConfig) -> FixedSet | None:
    """The one that training draws from; none where its problems are fresh."""
    samples, mode = config.data.samples, config.data.sampling
    if samples is None:
        return None
    return FixedSet(config.train_domain, samples, seed=config.seed, width=config.operand_width, mode=mode)


def sample_counts(fixed: FixedSet) -> Counts:
    return {str(part): counts for part, counts in fixed.counts.items()}


def counts_text(counts: Counts) -> str:
    """
    >>> counts_text({"D1": (90, 10), "D3": (450, 50)})
    'D1 90 (and 10 held out), D3 450 (and 50 held out)'
    """
    return ", ".join(f"{part} {trained:,} (and {held:,} held out)" for part, (trained, held) in counts.items())


def assess_held_out(
    parts: Parts, members: Sequence[MeasuredMember], sets: Sequence[FixedSet | None]
) -> list[Record]:
    """Records of each member on the tenth of its own set that is held out, as the domain `D4 (held out)`."""
    subject = Subject(parts.model, parts.layout, parts.encoding)
    names, domains = [member.run for member in members], [config.train_domain for config in parts.configs]
    predicted = [
        config.spec.predicted_hypothesis(domain) for config, domain in zip(parts.configs, domains, strict=True)
    ]
    records: list[Record] = []
    for own in _of_equal_size(sets):
        # A pass is over all members: those whose sets have another size look at one of these, for nothing.
        chosen = [own.get(k) or next(iter(own.values())) for k in range(len(names))]
        a, b = (torch.stack(side).to(parts.model.device) for side in zip(*chosen, strict=True))
        row = Row(Problems("held out", a, b, "sampled"), None, predicted)
        questions = ask(members, [row], parts.layout.answer_width)
        measured = measure(subject, members, questions, detail=False)
        labels = {names[k]: f"{domains[k]} (held out)" for k in own}
        records += [r.model_copy(update={"domain": labels[r.run]}) for r in measured if r.run in labels]
    return records


def _of_equal_size(sets: Sequence[FixedSet | None]) -> list[dict[int, Pair]]:
    """The problems held out, by member; members with equally many together."""
    groups: dict[int, dict[int, Pair]] = {}
    for k, fixed in enumerate(sets):
        if fixed is not None and len(fixed.test[0]):
            groups.setdefault(len(fixed.test[0]), {})[k] = fixed.test
    return list(groups.values())
