"""Positional encodings: one per file, and the table that names them.

A new encoding is a final subclass of `Encoding` and a line here; one from outside the package registers
itself with `ENCODINGS["mine"] = Mine`. Those numbered by index have a randomized form: `randomized:rotary`.
"""

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.positions.abacus import Abacus
from lengthwise.model.positions.alibi import Alibi
from lengthwise.model.positions.coupled import Coupled
from lengthwise.model.positions.encoding import Encoding, IndexEncoding
from lengthwise.model.positions.fire import Fire
from lengthwise.model.positions.learned import Learned, TableEncoding
from lengthwise.model.positions.none import NoPositions
from lengthwise.model.positions.randomized import PREFIX, randomized
from lengthwise.model.positions.rotary import Rotary
from lengthwise.model.positions.shaw import Shaw
from lengthwise.model.positions.sinusoidal import Sinusoidal
from lengthwise.model.positions.t5 import T5
from lengthwise.registry import Registry

ENCODINGS: Registry[type[Encoding]] = Registry(
    "encodings",
    {
        "none": NoPositions,
        "learned": Learned,
        "sinusoidal": Sinusoidal,
        "rotary": Rotary,
        "alibi": Alibi,
        "t5": T5,
        "shaw": Shaw,
        "fire": Fire,
        "abacus": Abacus,
        "coupled": Coupled,
    },
    implementations=True,
)


def find_encoding(name: str) -> type[Encoding]:
    """The encoding of that name, or the randomized form of the one named after `randomized:`."""
    kind = ENCODINGS.get(name.removeprefix(PREFIX))
    if kind is None:
        raise InputError(
            f"unknown encoding {name!r} (choose from {', '.join(ENCODINGS)}, and {PREFIX}NAME for some of them)"
        )
    if not name.startswith(PREFIX):
        return kind
    if not issubclass(kind, IndexEncoding):
        allowed = [PREFIX + n for n, k in ENCODINGS.working().items() if issubclass(k, IndexEncoding)]
        raise InputError(f"{name!r} does not number tokens by index (choose from {', '.join(allowed)})")
    return randomized(kind)


def check_encoding(config: ModelConfig, name: str) -> None:
    """Refuse an encoding that does not go with the model's options."""
    if config.position_waves and not issubclass(find_encoding(name), TableEncoding):
        allowed = [known for known, kind in ENCODINGS.working().items() if issubclass(kind, TableEncoding)]
        raise InputError(f"position_waves does not go with encoding {name!r} (choose from {', '.join(allowed)})")
