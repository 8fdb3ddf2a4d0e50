"""What the two modular recipes share: a row for each modulus, with its own training domain, tested on B1 to B9."""

from dataclasses import dataclass, field

from lengthwise.experiments.config import RunConfig
from lengthwise.experiments.recipes.laptop import small
from lengthwise.experiments.recipes.recipe import Row, Setting, Tuning, full_scale

ANSWER_WIDTH = 3
MEASURED = {"digits": True, "dependence": True}


@dataclass(frozen=True, kw_only=True)
class ModularTable:
    """The rows of a table on an operation modulo p."""

    name: str
    operation: str
    moduli: dict[int, tuple[str, Tuning]]
    """By modulus: what it is trained on, and how."""
    paper_train: str
    """What the paper trains on."""
    paper_exceptions: dict[int, str] = field(default_factory=dict)
    laptop_moduli: tuple[int, ...]

    def rows(self, setting: Setting) -> list[Row]:
        moduli = self.laptop_moduli if setting.laptop else self.moduli
        return [Row(f"{self.name}-p{modulus}", self._config(setting, modulus)) for modulus in moduli]

    def _config(self, setting: Setting, modulus: int) -> RunConfig:
        task = f"{self.operation}%{modulus}"
        if setting.laptop:
            return small(task, "D1+D2", "B1..3").changed(evaluation=MEASURED)
        train, tuning = self.moduli[modulus]
        if setting.preset == "paper":
            train = self.paper_exceptions.get(modulus, self.paper_train)
        run = full_scale(setting, task, train, "B1..9", tuning, answer_width=ANSWER_WIDTH)
        return run.changed(evaluation=MEASURED)
