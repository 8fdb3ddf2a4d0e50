"""Runs on long operands, as figures and tables look for them, made without a model."""

from synthetic_runs import record_maker, synthetic_run

from lengthwise.records.view import RunView

COUPLED = {"task": "add", "train": "D1..2", "test": "D2,D5,D20", "encoding": "coupled", "layout": "reversed"}
ABACUS = {**COUPLED, "encoding": "abacus", "test": "D2,D4"}
EXACT = {2: 1.0, 5: 0.9, 20: 0.4}
MARGIN = {2: 9.0, 5: 3.0, 20: -1.0}
PAIRS = [1, 2, 4]
BOTH_KINDS = {"heads": 8, "token_heads": 4, "place_attention": True, "position_waves": True}
"""Of heads: by place and by tokens."""


def measured(folder, config, name, records):
    """A run with its records of the last step, which `records` gives from what makes one."""
    view = synthetic_run(folder, config, name=name, steps=())
    make = record_maker(view, 300)
    view.source.append([make(view.train, share=1), *records(make)])
    return RunView(view.source)


def coupled_run(folder, name, config=COUPLED, seed=1):
    """Accuracy falls with length and with the seed's number; answers go wrong in the last tenth or at the end."""
    return measured(folder, {**config, "seed": seed}, f"{name}-s{seed}", lambda make: inside(make, seed))


def inside(make, seed):
    records = []
    for n, best in EXACT.items():
        share = best - 0.1 * (seed - 1) * (n > 2)
        records += [make(f"D{n}", share=share), make(f"D{n}", share=share, mode="decoded", total=10)]
        records += [make(f"D{n}:carry", share=share / 2), make(f"D{n}:lopsided", share=1)]
        if share < 1:
            records += [make(f"D{n}", f"first_wrong_tenth:{t}", share=0.8 * (t == 10)) for t in range(1, 11)]
            records += [make(f"D{n}", "wrong_end", share=0.2)]
        records += [
            make(f"D{n}", "margin_mean", value=MARGIN[n]),
            make(f"D{n}", "margin_low", value=MARGIN[n] - 2),
        ]
        records += look(make, f"D{n}", seed)
    return records


def look(make, domain, seed):
    """What head 1 does in odd seeds, head 2 does in even ones."""
    for layer in (1, 2):
        for head in (1, 2):
            on_column = needed(layer, rank=1 if (head + seed) % 2 == 0 else 2, seed=seed)
            yield make(domain, f"attention:{layer}:{head}", value=on_column / 2)
            yield make(domain, f"on_column:{layer}:{head}", value=on_column)


def needed(layer, rank, seed):
    """The share of attention on the digits needed, of a layer's best head and of the other."""
    return {1: 0.9, 2: 0.3}[rank] / layer - 0.01 * seed


def attending_run(folder, name, *layers):
    """For each layer, of each head, the share of attention on the digits needed, whatever the length."""
    return measured(
        folder,
        COUPLED,
        name,
        lambda make: [
            make(f"D{n}", f"{metric}:{layer}:{head}", value=share)
            for n in EXACT
            for metric in ("attention", "on_column")
            for layer, shares in enumerate(layers, start=1)
            for head, share in enumerate(shares, start=1)
        ],
    )


def abacus_run(folder, seed=1, task="add"):
    """All right in the trained square; outside, where both are long, half."""
    return measured(
        folder,
        {**ABACUS, "task": task, "seed": seed},
        f"abacus-100-{task}-s{seed}",
        lambda make: [
            make(f"D{max(n, m)}", f"pair:{n}:{m}", share=0.5 if min(n, m) > 2 else 1.0 if seed == 1 else 0.8)
            for n in PAIRS
            for m in PAIRS
        ],
    )


def plain_run(folder, name, config):
    """Tested on its lengths, and on nothing else."""
    return measured(folder, config, name, lambda make: [make(d, share=0.5) for d in config["test"].split(",")])


def upward_run(folder, seed=1):
    """Products with a number of two digits: fewer right ones at each further length and seed."""
    return measured(
        folder,
        {**COUPLED, "task": "mul", "train": "1..3x2", "test": "3x2,8x2", "model": BOTH_KINDS, "seed": seed},
        f"upward-multiplication-s{seed}",
        lambda make: [
            make(f"{n}x2", share=1 - 0.01 * n * seed, mode=mode) for n in (3, 8) for mode in ("forced", "decoded")
        ],
    )


def far_runs(folder):
    """All that the figures of long operands are drawn from."""
    coupled = [coupled_run(folder, name) for name in ("coupled-1000", "coupled-200", "long-encodings-coupled")]
    return [*coupled, abacus_run(folder), upward_run(folder)]
