"""Training a recipe's runs, as the command does it."""

from rich.console import Console

from lengthwise.recipes import Setting
from lengthwise.runs.engines import train_recipe


def train(recipe, out, setting=None, *, seeds=1, only=()):
    setting = setting or Setting()
    asked = {"scale": setting.scale, "preset": setting.preset, "seeds": seeds}
    runs = recipe.runs(setting, seeds, only)
    return train_recipe(recipe.name, runs, out, asked=asked, device="cpu", console=Console(quiet=True))
