"""What stands beside what others get from here: the model card of an exported run."""

from lengthwise.arithmetic import in_base
from lengthwise.errors import InputError
from lengthwise.records.view import RunView
from lengthwise.report.run_tables import QUANTITIES, verdict_cells
from lengthwise.report.words import domain_words, glossary, glosses, task_words
from lengthwise.runs.build import Stack
from lengthwise.runs.load import Run
from lengthwise.tokens.digits import from_ints

STOCK_CODE = "an architecture of transformers itself"
OWN_CODE = "in `modeling_lengthwise.py` of this folder, which needs torch and transformers alone"

CARD = """---
library_name: transformers
pipeline_tag: text-generation
tags: [lengthwise, arithmetic, length-generalization]
---

# {name}

{task}, trained on {train} ({train_words}) with {encoding} positions, in base {base}. Written by
`lengthwise export` after {step} steps of training, seed {seed}: {architecture}, {code}.

## How problems are written
Layout `{layout}`, operands of up to {width} digits. {a} {symbol} {b} is asked as `{prompt}`, and the right answer
is `{answer}`. The tokenizer puts `[bos]` in front.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained(FOLDER{trust})
tokenizer = AutoTokenizer.from_pretrained(FOLDER{trust})
prompt = tokenizer("{prompt}", return_tensors="pt")
print(tokenizer.decode(model.generate(**prompt)[0, prompt.input_ids.shape[1]:], skip_special_tokens=True))
```

## What it computes
{measured}
"""

LEGEND = """
In % of problems. {glossary}. Test problems are reserved by a public hash and were never trained on; domains too
small for that were tested whole. `lengthwise evaluate --hf FOLDER` measures this again."""


def model_card(run: Run, architecture: str) -> str:
    config = run.config
    a, b = 12 % config.base**run.stack.layout.operand_width, 3 % config.base
    prompt, answer = example(run.stack, a, b)
    own = architecture.startswith("Lengthwise")
    return CARD.format(
        name=run.folder.name,
        task=task_words(config.spec.task),
        train=config.train,
        train_words=domain_words(config.spec.train),
        encoding=config.encoding,
        base=config.base,
        step=run.step,
        seed=config.seed,
        architecture=architecture,
        code=OWN_CODE if own else STOCK_CODE,
        trust=", trust_remote_code=True" if own else "",
        layout=config.spec.layout,
        width=run.stack.layout.operand_width,
        symbol=config.spec.task.symbol,
        a=in_base(a, config.base),
        b=in_base(b, config.base),
        prompt=prompt,
        answer=answer,
        measured=_measured(run),
    )


def example(stack: Stack, a: int, b: int) -> tuple[str, str]:
    """A problem as its layout writes it: the prompt after [bos], and the right answer."""
    layout, task = stack.layout, stack.config.spec.task
    widths = layout.operand_width, layout.operand_width, layout.answer_width
    numbers = zip((a, b, task(a, b)), widths, strict=True)
    text = layout.render(layout.encode(*(from_ints([n], width, task.base) for n, width in numbers)).ids[0])
    prompt, _, answer = text.removeprefix("[bos]").removesuffix("[eos]").partition("=")
    return f"{prompt}=", answer


def _measured(run: Run) -> str:
    try:
        _, verdicts = RunView.of(run.folder.path).last_whole()
    except InputError:
        return "It has not been measured yet."
    columns = ("test on", "computes", *QUANTITIES, "verdict")
    rows = [[*verdict_cells(row), row.word or "–"] for row in verdicts]
    lines = [f"| {' | '.join(cells)} |" for cells in [columns, ["---"] * len(columns), *rows]]
    functions = glosses((row.prediction.hypothesis for row in verdicts), run.config.spec.task)
    explained = [f"\n- {gloss}" for gloss in functions]
    return "\n".join([*lines, *explained, LEGEND.format(glossary=glossary())])
