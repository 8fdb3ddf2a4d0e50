"""Trained models that come with the package: run folders without what only training needs."""

from pathlib import Path


def shipped_models() -> dict[str, Path]:
    """Their folders by name."""
    configs = sorted(Path(__file__).parent.glob("*/config.json"))
    return {config.parent.name: config.parent for config in configs}


def model_path(name: Path | str) -> Path:
    """The folder of a shipped model, by its name; any other path, and one that is there, as it is."""
    path = Path(name)
    return path if path.exists() else shipped_models().get(str(name), path)
