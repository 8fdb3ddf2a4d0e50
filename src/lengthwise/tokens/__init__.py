"""Numbers as tensors: arithmetic on digits, sampled problems, and their layout as tokens."""

from lengthwise.tokens.answers import DIGITWISE, Answers
from lengthwise.tokens.chains import longest_chain
from lengthwise.tokens.counter import derive
from lengthwise.tokens.digits import (
    add,
    compare,
    equal,
    from_ints,
    modulo,
    multiply,
    to_ints,
    truncate,
    windowed_add,
)
from lengthwise.tokens.fixed import FixedSet, enumerate_pairs
from lengthwise.tokens.layout import (
    LAYOUTS,
    Layout,
    Malformed,
    Padded,
    Problem,
    Tokens,
    Vocabulary,
    build_layout,
)
from lengthwise.tokens.reserve import WHOLE_LIMIT, is_reserved, reserves
from lengthwise.tokens.sampling import MODES, Member, Sampler

__all__ = [
    "DIGITWISE",
    "LAYOUTS",
    "MODES",
    "WHOLE_LIMIT",
    "Answers",
    "FixedSet",
    "Layout",
    "Malformed",
    "Member",
    "Padded",
    "Problem",
    "Sampler",
    "Tokens",
    "Vocabulary",
    "add",
    "build_layout",
    "compare",
    "derive",
    "enumerate_pairs",
    "equal",
    "from_ints",
    "is_reserved",
    "longest_chain",
    "modulo",
    "multiply",
    "reserves",
    "to_ints",
    "truncate",
    "windowed_add",
]
