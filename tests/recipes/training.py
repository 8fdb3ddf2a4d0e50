"""Training a recipe's runs, as the command does it."""

from rich.console import Console

from lengthwise.commands.reproduce import reproduce
from lengthwise.recipes import Setting


def train(recipe, out, setting=None, *, seeds=1, only=()):
    setting = setting or Setting()
    asked = {"scale": setting.scale, "preset": setting.preset, "seeds": seeds}
    runs = recipe.runs(setting, seeds, only)
    return reproduce(recipe.name, runs, out, asked=asked, device="cpu", console=Console(quiet=True))
