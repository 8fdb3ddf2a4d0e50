"""Draws docs/encodings/*.png: what each encoding makes of positions. Run it from anywhere.

Numberings are those of 12+345=357 in the padded layout; biases are those of a model before training.
"""

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions import find_encoding
from lengthwise.model.positions.encoding import Encoding, number_tokens
from lengthwise.model.positions.sinusoidal import frequencies
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts import build_layout

FOLDER = Path(__file__).parent.parent / "docs" / "encodings"
CONFIG = ModelConfig(layers=1, heads=4, width=64, embedding_std=0.3)
INK, FUTURE, LINES = "#333333", "#eeeeee", ("#3b528b", "#21918c", "#5ec962", "#c2b21a")
STYLE = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#999999",
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "image.cmap": "viridis",
}


def main() -> None:
    mpl.use("Agg")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with plt.style.context(STYLE), torch.no_grad():
        for name in ("none", "learned"):
            draw_numbering(name, [("all", 0)])
        for name in ("abacus", "coupled"):
            draw_numbering(name, [("evaluation", 0), ("training", 2), ("training", 5)], rows=12)
        draw_numbering("randomized:learned", [("evaluation", 0), ("training", 1), ("training", 2)], rows=60)
        draw_sinusoidal()
        draw_rotary()
        draw_bias("alibi", "bias of head 0", length=100, heads=4)
        draw_bias("t5", "bias of head 0, untrained", length=160, heads=2)
        draw_bias("shaw", "bias of head 0 for one query", length=160, heads=1)
        draw_fire()


def build(name: str, rows: int = 15) -> Encoding:
    return find_encoding(name)(CONFIG, rows, Initializer([3]))


def span(length: int) -> Tensor:
    return torch.arange(length).view(1, 1, -1)


def bias_map(name: str, length: int) -> Tensor:
    """[H, Q, K] with what lies in the future blank."""
    encoding, positions = build(name), span(length)
    heads = CONFIG.heads
    q = torch.randn(CONFIG.width // heads, generator=torch.Generator().manual_seed(5))
    q = q.expand(1, 1, heads, length, -1)
    _, _, bias = encoding.attend(q, q, encoding.relate(positions, positions))
    assert bias is not None
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    return bias[0, 0].masked_fill(future, torch.nan)


def draw_numbering(name: str, examples: Sequence[tuple[str, int]], rows: int = 15) -> None:
    layout = build_layout("padded", Task.parse("add"), operand_width=3)
    tokens = layout.encode(*(from_ints([n], 3, 10) for n in (12, 345, 357)))
    encoding = build(name, rows)
    offsets = torch.tensor([offset for _, offset in examples]).view(1, -1, 1)
    positions = number_tokens(encoding, tokens.significance, tokens.number, offsets)[0]
    positions = positions.expand(len(examples), -1)
    texts = ["begin", *layout.render(tokens.ids[0])[len("[bos]") : -len("[eos]")], "end"]

    figure, axes = plt.subplots(figsize=(6.4, 0.5 + 0.32 * len(examples)), layout="constrained")
    largest = max(int(positions.max()), 1)
    axes.imshow(positions, aspect="auto", vmin=-0.25 * largest, vmax=largest, alpha=0.75)
    for (row, column), position in np.ndenumerate(positions):
        axes.text(column, row, str(position), ha="center", va="center", color="black")
    axes.set_xticks(range(len(texts)), texts)
    axes.set_yticks(range(len(examples)), [_label(kind, offset, name) for kind, offset in examples])
    axes.xaxis.tick_top()
    _bare(axes)
    save(figure, name.removesuffix(":learned"))


def _label(kind: str, offset: int, name: str) -> str:
    if kind != "training":
        return "position" if kind == "all" else kind
    return f"training, {'draw' if name.startswith('randomized') else 'offset'} {offset}"


def _bare(axes: Axes) -> None:
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def two_panels(left: str, right: str) -> tuple[Figure, Axes, Axes]:
    figure, (one, two) = plt.subplots(1, 2, figsize=(6.4, 2.3), layout="constrained", width_ratios=[1, 1.45])
    one.set_title(left, loc="left")
    two.set_title(right, loc="left")
    return figure, one, two


def show_map(figure: Figure, axes: Axes, values: Tensor) -> None:
    axes.set_facecolor(FUTURE)
    image = axes.imshow(values, aspect="auto", interpolation="nearest")
    axes.set_xlabel("key")
    axes.set_ylabel("query")
    figure.colorbar(image, ax=axes, fraction=0.06, pad=0.03).outline.set_visible(False)  # type: ignore[attr-defined]


def draw_sinusoidal() -> None:
    waves = build("sinusoidal").embed(span(100))
    assert waves is not None
    figure, one, two = two_panels("added to the embedding", "four of its 64 entries")
    one.imshow(waves[0, 0].T, aspect="auto", interpolation="nearest")
    one.set_xlabel("position")
    one.set_ylabel("entry")
    for color, entry in zip(LINES, (0, 4, 8, 12), strict=True):
        two.plot(waves[0, 0, :, entry], color=color, label=f"entry {entry}")
    two.set_xlabel("position")
    two.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.06), handlelength=1, columnspacing=1)
    two.set_ylim(-0.5, 0.62)
    save(figure, "sinusoidal")


def draw_rotary() -> None:
    """Products of a query and a key that are equal before they turn."""
    encoding, positions = build("rotary"), span(100)
    ones = torch.ones(1, 1, 1, 100, CONFIG.width // CONFIG.heads)
    q, k, _ = encoding.attend(ones, ones, encoding.relate(positions, positions))
    product = (q @ k.mT)[0, 0, 0] / ones.shape[-1]
    future = torch.ones(100, 100, dtype=torch.bool).triu(1)
    figure, one, two = two_panels("q · k of equal vectors", "the same by distance, and pair by pair")
    show_map(figure, one, product.masked_fill(future, torch.nan))
    for pair, color in zip((0, 1, 2), LINES[1:], strict=True):
        turned = torch.cos(torch.arange(100) * frequencies(16, "width")[pair])
        two.plot(turned, color=color, linewidth=0.9, label=f"pair {pair}")
    two.plot(product[:, 0], color=LINES[0], linewidth=2.2, label="all 8 pairs")
    two.set_xlabel("distance")
    two.set_ylim(-1.1, 1.55)
    two.legend(ncols=4, loc="upper center", handlelength=1, columnspacing=1)
    save(figure, "rotary")


def draw_bias(name: str, title: str, length: int, heads: int) -> None:
    bias = bias_map(name, length)
    figure, one, two = two_panels(title, "by distance")
    show_map(figure, one, bias[0])
    for head, color in zip(range(heads), LINES, strict=False):
        two.plot(bias[head, -1].flip(-1), color=color, label=f"head {head}")
    two.set_xlabel("distance")
    two.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.28), handlelength=1, columnspacing=1)
    save(figure, name)


def draw_fire() -> None:
    figure, one, two = two_panels("bias of head 0, untrained", "head 0 at four queries, by distance")
    show_map(figure, one, bias_map("fire", 1500)[0, ::10, ::10])
    one.set_xlabel("key / 10")
    one.set_ylabel("query / 10")
    encoding = build("fire")
    for query, color in zip((250, 500, 1000, 1500), LINES, strict=True):
        bias = encoding.relate(torch.tensor([[[query]]]), span(query + 1))
        assert isinstance(bias, Tensor)
        two.plot(bias[0, 0, 0, 0].flip(-1), color=color, label=f"query {query}")
    two.set_xlabel("distance")
    two.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.28), handlelength=1, columnspacing=0.8)
    save(figure, "fire")


def save(figure: Figure, name: str) -> None:
    """As a PNG of 128 colours, which no eye tells from more."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=160)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(128).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
