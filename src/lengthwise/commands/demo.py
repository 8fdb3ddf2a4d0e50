"""lengthwise demo."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Demo:
    """x"""

    def run(self) -> None: ...
