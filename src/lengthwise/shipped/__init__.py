"""Trained models that come with the package: run folders without what only training needs."""

from pathlib import Path


def shipped_models() -> dict[str, Path]:
    """Their folders by name."""
    configs = sorted(Path(__file__).parent.glob("*/config.json"))
    return {config.parent.name: config.parent for config in configs}
