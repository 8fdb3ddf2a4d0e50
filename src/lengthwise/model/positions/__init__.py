"""Positional encodings: one per file, and the table that names them.

A new encoding is a final subclass of `Encoding` and a line here; one from outside the package registers
itself with `ENCODINGS["mine"] = Mine`.
"""

from lengthwise.errors import InputError
from lengthwise.model.positions.coupled import Coupled
from lengthwise.model.positions.encoding import Encoding, Relation, number_tokens
from lengthwise.model.positions.learned import Learned

__all__ = ["ENCODINGS", "Encoding", "Relation", "find_encoding", "number_tokens"]

ENCODINGS: dict[str, type[Encoding]] = {
    "coupled": Coupled,
    "learned": Learned,
}


def find_encoding(name: str) -> type[Encoding]:
    """The encoding of that name."""
    if name not in ENCODINGS:
        raise InputError(f"unknown encoding {name!r}: allowed are {', '.join(ENCODINGS)}")
    return ENCODINGS[name]
