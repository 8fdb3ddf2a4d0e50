"""Shapes by name, and shapes that are refused."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from lengthwise.errors import InputError
from lengthwise.model.config import SIZES, ModelConfig


def test_sizes_by_name():
    shapes = {name: ModelConfig.named(name) for name in SIZES}
    assert {name: (c.layers, c.heads, c.width) for name, c in shapes.items()} == {
        "nano": (3, 3, 48),
        "micro": (4, 4, 128),
        "mini": (6, 6, 384),
    }
    assert ModelConfig() == ModelConfig.named("mini")


def test_changes_win_over_the_size():
    config = ModelConfig.named("nano", layers=1, tied=False)
    assert (config.layers, config.heads, config.tied) == (1, 3, False)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=r"unknown size 'huge' \(choose from nano, micro, mini\)"):
        ModelConfig.named("huge")


def test_heads_divide_width():
    allowed = "1, 2, 3, 4, 6, 8, 12, 16, 24, 48"
    with pytest.raises(InputError, match=rf"heads 5 does not divide width 48 \(choose from {allowed}\)"):
        ModelConfig.named("nano", heads=5)


def test_waves_need_even_heads_and_position_only_attention_needs_waves():
    with pytest.raises(InputError, match=r"position_waves requires an even head width \(width 30 / heads 6\)"):
        ModelConfig(width=30, heads=6, position_waves=True)
    with pytest.raises(InputError, match="place_attention requires position_waves"):
        ModelConfig.named("nano", place_attention=True)


def test_a_position_only_head_has_a_pair_that_turns():
    options = {"heads": 2, "position_waves": True, "place_attention": True}
    ModelConfig(width=12, **options)
    with pytest.raises(
        InputError, match=r"place_attention requires a head width of 6 or more \(width 8 / heads 2 is 4\)"
    ):
        ModelConfig(width=8, **options)


@pytest.mark.parametrize(
    "bad",
    [
        {"layers": 0},
        {"width": -3},
        {"dropout": 1.0},
        {"dropout": -0.1},
        {"embedding_std": 0},
        {"context": 0},
        {"loops": 0},
        {"attention_clip": 1.0},
        {"frequency_draws": 0},
        {"depth": 3},
    ],
)
def test_bad_values_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        ModelConfig(**bad)


def test_it_is_frozen_and_survives_json():
    config = ModelConfig.named("micro", context=300)
    with pytest.raises(ValidationError):
        config.layers = 2
    assert ModelConfig.model_validate_json(config.model_dump_json()) == config


def test_every_field_is_described():
    assert all(field.description for field in ModelConfig.model_fields.values())


def test_the_config_imports_no_torch():
    code = "import sys, lengthwise.model.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_content_heads_are_some_of_those_of_position_only_attention():
    with pytest.raises(InputError, match="token_heads requires place_attention"):
        ModelConfig.named("nano", position_waves=True, token_heads=1)
    with pytest.raises(InputError, match="token_heads 3 must be less than heads 3"):
        ModelConfig.named("nano", position_waves=True, place_attention=True, token_heads=3)


def test_configs_of_earlier_versions_mean_what_they_meant():
    """What was a constant of the code is a field whose default it is."""
    stored = ModelConfig.named("nano", position_waves=True, place_attention=True).model_dump()
    later = {name: stored.pop(name) for name in ("attention_clip", "frequency_draws", "head_start", "null_key")}
    assert later == {"attention_clip": 0.1, "frequency_draws": 100, "head_start": "near", "null_key": True}
    assert ModelConfig(**stored).model_dump() == {**stored, **later}
    for near, start in ((True, "near"), (False, "random")):
        assert ModelConfig(**stored, start_near=near).head_start == start
