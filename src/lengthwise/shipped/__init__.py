"""Trained models that come with the package: run folders without the files that only training needs."""

from pathlib import Path


def shipped_models() -> dict[str, Path]:
    """The folders of the shipped models by name."""
    configs = sorted(Path(__file__).parent.glob("*/config.json"))
    return {config.parent.name: config.parent for config in configs}


def model_path(name: Path | str) -> Path:
    """The folder of a shipped model, if the name is one and no such path exists; else the path itself."""
    path = Path(name)
    return path if path.exists() else shipped_models().get(str(name), path)
