"""Run folders of the recipes on relative positions, as models that compute a known function would leave them."""

import random

from fakes import longest_chain
from synthetic_runs import record_maker

from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.folder import RunFolder
from lengthwise.records.view import RunView
from lengthwise.theory.hypotheses import Hypothesis

PROBLEMS = 600
LAPTOP = Setting(scale="laptop")


def fake_run(folder, recipe, row, computes, *, seed=1, steps=None):
    """A row of a laptop recipe whose model answers as `computes` says: a function of (a, b), a hypothesis, or
    nothing for the one that the run's own theory predicts. `steps` are shares of right sums, carries, digits."""
    name = f"{row}-s{seed}"
    config = RECIPES[recipe].runs(LAPTOP, seed, [row])[name]
    claimed = RunFolder.claim(folder / name, config.model_dump(mode="json"), {})
    view = RunView(claimed)
    make = record_maker(view, 100)
    records = []
    for prediction in view.spec.predictions(config.spec.measured_domains()):
        domain = prediction.domain
        pairs = list(sampled(domain, PROBLEMS))
        answered = [_answer(computes, view, prediction, a, b) for a, b in pairs]
        names = {"truth", *config.evaluation.hypotheses}
        names |= {str(prediction.hypothesis)} - {"None"}
        for name in sorted(names):
            given = [Hypothesis.parse(name)(view.task, a, b) for a, b in pairs]
            agreed = [x == y for x, y in zip(answered, given, strict=True)]
            records.append(make(domain, share=sum(agreed) / PROBLEMS, reference=name, total=PROBLEMS))
            if config.evaluation.chains:
                found = [longest_chain(a, b, view.task.base) for a, b in pairs]
                records += [
                    make(domain, f"chain:{k}", share, reference=name)
                    for k, share in by_chain(found, agreed).items()
                ]
        for kind, right in (steps or {}).items():
            records.append(make(domain, f"steps:{kind}", right))
    claimed.append(records)
    claimed.set_status("done")
    return RunView(claimed)


def sampled(domain, count):
    source = random.Random(str(domain))
    for _ in range(count):
        part = source.choice(domain.parts)
        top = source.choice(part.lead_pairs)
        low = part.base ** (part.length - 1)
        yield tuple(digit * low + source.randrange(low) for digit in top)


def _answer(computes, view, prediction, a, b):
    if computes is None:
        hypothesis = prediction.hypothesis
        return view.task(a, b) if hypothesis is None else hypothesis(view.task, a, b)
    return computes(view.task, a, b) if isinstance(computes, Hypothesis) else computes(a, b)


def by_chain(chains, agreed):
    """The share of each longest chain that occurs; an evaluation draws them all alike, however rare."""
    own = {k: [agrees for agrees, other in zip(agreed, chains, strict=True) if other == k] for k in chains}
    return {k: sum(found) / len(found) for k, found in sorted(own.items())}


def relative_runs(folder):
    """A few of each recipe, as theory says they come out."""
    rows = {
        "table1": [f"table1-{name}-{task}" for name in ("learned", "rotary") for task in TASKS],
        "relative-addition": ["relative-addition-rotary-D2", "relative-addition-coupled-D3"],
        "jelassi-5-20": ["jelassi-rotary-D2", "jelassi-coupled-D1..2"],
        "modular-relative": ["relative-modular-rotary-p35", "relative-modular-coupled-p36"],
        "multiplication-relative": [
            f"relative-multiplication-rotary-{way}-D1..2" for way in ("direct", "scratchpad")
        ],
    }
    return [fake_run(folder, recipe, row, None) for recipe, names in rows.items() for row in names]


TASKS = ("add", "mul", "add-mod-36", "add-mod-35")
