"""lengthwise evaluate: measure a trained run."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from lengthwise.arithmetic import Task
from lengthwise.commands.ask import answer_json, answers_shown
from lengthwise.errors import InputError
from lengthwise.report.tables import new_table, percent

if TYPE_CHECKING:
    from lengthwise.evaluation.text import Answered, Found
    from lengthwise.records.schema import Record
    from lengthwise.runs.config import RunConfig
    from lengthwise.runs.load import Run


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a Hugging Face model is asked, and how."""

    hf: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Measure the model of this Hugging Face folder instead: any causal LM, by its own tokenizer. Of one that
    `lengthwise export` wrote, the rest is known."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """Operation and modulus: add, mul, add%101, mul%150."""
    train: Annotated[str, tyro.conf.arg(metavar="DOMAIN")] = "D4"
    """Domain that the model is taken to know: every verdict depends on it, and examples come from it."""
    encoding: str = "none"
    """Positional encoding of the model, for predictions; none makes none."""
    layout: str = "plain"
    """Layout that predictions are made for."""
    base: int = 10
    """Number base, 2 to 36."""
    seed: int = 0
    """Problems and examples derive from it."""
    problems: int = 1000
    """Number of problems per domain that has more."""
    template: Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="(default: equation)")] = None
    """How a problem is asked: equation, spaced, question, or a text such as "{a}+{b}="."""
    reverse: bool = False
    """Answers are written from the lowest digit on."""
    shots: int = 0
    """Number of examples shown before each problem."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Write the records into this run folder, for report and explore."""
    trust_remote_code: bool = False
    """Run code that the folder brings."""

    def check(self) -> "Asked":
        if self.task is None:
            raise InputError("--hf requires --task, unless lengthwise export wrote the folder")
        if not 0 <= self.shots <= 1000:
            raise InputError(f"shots is {self.shots} (must be 0 to 1000)")
        return self

    def config(self, test: str | None) -> "RunConfig":
        """What is asked, as a run's config has it. What it says of training is nobody's."""
        from lengthwise.evaluation.config import EvaluationConfig
        from lengthwise.runs.config import RunConfig

        question = {"task": self.task, "train": self.train, "test": test, "encoding": self.encoding}
        written = {"layout": self.layout, "base": self.base, "seed": self.seed}
        return RunConfig(**question, **written, evaluation=EvaluationConfig(problems=self.problems))

    def how(self) -> dict[str, Any]:
        """How it is asked, as environment.json has it."""
        names = ("template", "reverse", "shots")
        return {"model": str(self.hf)} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a trained run, or the model of a Hugging Face folder, on test domains or on your own problems.

    Example: lengthwise evaluate runs/add-D4-learned-s1 --test B5..9 --decode
    """

    run_folder: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = None
    """A run folder."""
    asked: Annotated[Asked, tyro.conf.arg(name="")] = field(default_factory=Asked)
    test: Annotated[str | None, tyro.conf.arg(metavar="DOMAINS", help_behavior_hint="(default: the run's)")] = None
    """Test domains, a row each: D1..9, B5,B6."""
    pairs: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Measure on this file's pairs instead, two numbers a line."""
    decode: bool = False
    """Also decode every answer token by token, and split the failures."""
    dependence: bool = False
    """Also change each digit of the first operand and see which answer digits change."""
    functions: bool = False
    """Also search which function the answers follow: truth, truncated, windowed, leading or folded. This is always
    done for a model that is asked in text."""
    show_errors: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Show the first N wrong answers."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print the records as JSON."""

    def run(self) -> None:
        if (self.run_folder is None) == (self.asked.hf is None):
            raise InputError("evaluate takes either a run folder or --hf DIR")
        self._check_out()
        run = self._exported() if self.asked.hf is not None else self._loaded()
        return self._ask_in_text() if run is None else self._evaluate(run)

    def _loaded(self) -> "Run":
        from lengthwise.runs.load import load

        assert self.run_folder is not None
        if self.asked != Asked():
            raise InputError("options such as --task and --template require --hf DIR")
        return load(self.run_folder, device=self.device)

    def _exported(self) -> "Run | None":
        """What lengthwise wrote is asked as the run it was, unless a template asks for text."""
        from lengthwise.interop.models import exported_run

        assert self.asked.hf is not None
        return None if self.asked.template or self.asked.task else exported_run(self.asked.hf, self.device)

    def _evaluate(self, run: "Run") -> None:
        from lengthwise.report.run_tables import (
            DEPENDENCE_LEGEND,
            DETAIL_LEGEND,
            LEGEND,
            dependence_table,
            detail_table,
            failure_table,
            record_table,
            verdict_json,
            verdict_table,
        )
        from lengthwise.runs.evaluate import answered, evaluate

        found = evaluate(
            run,
            self.test,
            pairs=self.pairs,
            decoded=self.decode,
            dependence=self.dependence,
            show_errors=self.show_errors,
        )
        task = run.config.task_object
        functions = self._functions(task, answered(run, self.test, self.pairs)) if self.functions else []
        self._write(run.config, found.records)
        if self.json:
            content: dict[str, Any] = {
                "records": [record.model_dump() for record in found.records],
                "verdicts": [verdict_json(row) for row in found.verdicts],
                "errors": [answer_json(answer, task.base) for answer in found.errors],
            }
            if found.dependence is not None:
                content["dependence"] = found.dependence.as_json()
            if functions:
                content["functions"] = [function_json(row) for row in functions]
            return print(json.dumps(content, indent=2))
        console = Console(highlight=False)
        if found.verdicts:
            console.print(verdict_table(found.verdicts, str(run.folder.path)))
            console.print(LEGEND)
        else:
            console.print(record_table(found.records))
        console.print(detail_table(found.records))
        console.print(DETAIL_LEGEND)
        if self.decode:
            console.print(failure_table(found.records))
        if found.dependence is not None:
            console.print(dependence_table(found.dependence))
            console.print(DEPENDENCE_LEGEND)
        if found.errors:
            console.print(answers_shown(found.errors, task.base, task.symbol))
        if functions:
            console.print(function_table(functions))
            console.print(FUNCTION_LEGEND)
        return None

    def _ask_in_text(self) -> None:
        from lengthwise.evaluation.text import Prompts, ask, examples, text_records
        from lengthwise.interop.models import CausalLM
        from lengthwise.records.verdicts import verdicts
        from lengthwise.report.run_tables import LEGEND, verdict_json, verdict_table

        asked = self.asked.check()
        assert asked.hf is not None
        for name, value in {"pairs": self.pairs, "decode": self.decode, "dependence": self.dependence}.items():
            if value:
                raise InputError(f"--{name} does not go with a model that is asked in text")
        config = asked.config(self.test)
        spec, name = config.spec, (asked.out or asked.hf).name
        shown = examples(spec, asked.shots)
        prompts = Prompts(spec.task, asked.template or "equation", shown, reverse=asked.reverse)
        model = CausalLM(asked.hf, self.device, trust_remote_code=asked.trust_remote_code)
        found = ask(model, spec, prompts, asked.problems)
        records, functions = (
            text_records(spec, name, found, reverse=asked.reverse),
            self._functions(spec.task, found),
        )
        judged = verdicts(spec.predictions(), spec.train, records)
        self._write(config, records)
        if self.json:
            content = {
                "records": [record.model_dump() for record in records],
                "verdicts": [verdict_json(row) for row in judged],
                "functions": [function_json(row) for row in functions],
            }
            return print(json.dumps(content, indent=2))
        console = Console(highlight=False)
        for shown in (verdict_table(judged, str(asked.hf)), LEGEND, function_table(functions), FUNCTION_LEGEND):
            console.print(shown)
        return None

    def _functions(self, task: Task, found: "list[Answered]") -> "list[Found]":
        from lengthwise.evaluation.text import find_functions

        return find_functions(task, found)

    def _check_out(self) -> None:
        """Refuse a folder in use before anything is measured."""
        out = self.asked.out
        if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out} is there already and is not an empty folder")

    def _write(self, config: "RunConfig", records: "list[Record]") -> None:
        """A run folder with these records."""
        from lengthwise.records.folder import RunFolder
        from lengthwise.runs.environment import choose_device, environment

        if self.asked.out is None:
            return
        facts = {**environment(choose_device(self.device)), "asked": self.asked.how()}
        folder = RunFolder.claim(self.asked.out, config.model_dump(mode="json"), facts)
        folder.append(record.model_copy(update={"run": folder.name}) for record in records)
        folder.set_status("done", step=records[0].step)


FUNCTION_LEGEND = (
    "Nearest function: of truth and the task on the last n digits (truncated:n), through windows of n columns "
    "(windowed:n), on the first n digits (leading:n) and on folded ones (folded:n), the one that the answers "
    "follow most often; of equals the first in this order. Chain n: problems whose longest carry chain has n "
    "columns. Answers that are no number are wrong, and counted as malformed."
)


def function_table(rows: "list[Found]") -> Table:
    table = new_table("problems", "number", "malformed", "right %", "nearest function", "agrees %")
    for row in rows:
        shares = percent(row.right / row.total), str(row.function or "–"), percent(row.agrees / row.total)
        table.add_row(row.where, str(row.total), str(row.malformed), *shares)
    return table


def function_json(row: "Found") -> dict[str, Any]:
    return {**row._asdict(), "function": None if row.function is None else str(row.function)}
