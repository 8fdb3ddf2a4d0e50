"""Text and lines stand out from what is behind them as WCAG 2 level AA asks, in light and in dark."""

import re
from pathlib import Path

import pytest

from lengthwise import explorer

PAGE = Path(explorer.__file__).parent / "page"
COLOURS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (PAGE / "css/style.css").read_text()
    )
}
CURVES = re.findall(r"#\w{6}", re.search(r"COLOURS = \[.*?\]", (PAGE / "line_chart.js").read_text())[0])

TEXT, LINE = 4.5, 3.0
PAIRS = [
    *(("ink", back, TEXT) for back in ("back", "card", "sunk", "blue-tint")),
    *(("soft", back, TEXT) for back in ("back", "card", "sunk", "input")),
    *((tone, "card", TEXT) for tone in ("blue", "orange", "red", "green", "yellow")),
    *((tone, "sunk", TEXT) for tone in ("blue", "red", "green", "yellow")),
    *((tone, f"{tone}-tint", TEXT) for tone in ("blue", "red", "green", "yellow")),
    ("blue", "back", TEXT),
    ("on-blue", "blue", TEXT),
    *(("edge", back, LINE) for back in ("back", "card", "input")),
]


def luminance(colour: str) -> float:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour: str, back: str, share: float) -> str:
    channels = [(int(colour[i : i + 2], 16), int(back[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * x + (1 - share) * y):02x}" for x, y in channels)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_read_stands_out(scheme):
    for front, back, needed in PAIRS:
        assert contrast(COLOURS[front][scheme], COLOURS[back][scheme]) >= needed, (front, back)
    heat = mixed(COLOURS["heat"][scheme], COLOURS["card"][scheme], 0.62)
    assert contrast(COLOURS["ink"][scheme], heat) >= TEXT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_curves_stand_out(scheme):
    assert len(CURVES) == 8
    for colour in CURVES:
        assert contrast(colour, COLOURS["card"][scheme]) >= LINE, colour
