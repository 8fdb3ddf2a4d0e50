"""The bounds of a request. Each is told to whoever exceeds it."""

MAX_DIGITS = 100
"""Digits of an operand, and length of a domain, in a prediction."""

MAX_TEXT = 200
"""Characters of anything typed."""

MAX_ROWS = 100
"""Test domains of one prediction."""

MAX_MODULUS = 10**18

MAX_PRODUCT_MODULUS = 20_000
"""Counts for modular products take time that grows with the square of the modulus."""

WORK_SECONDS = {"check": 5.0, "explain": 5.0, "predict": 20.0, "judge": 20.0, "report": 60.0}
"""Time that one piece of work may take, by its name."""

WAIT_SECONDS = 20.0
"""Time that work may wait for its turn."""

MAX_DEPENDENCE_TOKENS = 500
"""Tokens of a problem and its answer up to which each of its digits is replaced: a sum of 165 digits.
A small model takes 1 s for 100 digits on one core. Wrong answers are written token by token: one that errs takes
longer, and may meet LOOK_SECONDS first, as larger ones do."""

MAX_ATTENTION_TOKENS = 3_100
"""Tokens of a problem and its answer up to which attention is shown: a sum of 1,000 digits. It takes one pass."""

LEAST_ATTENTION = 0.005
"""Attention that is told; less is shown as none."""

ANSWER_SECONDS = 60.0
"""Time that an answer may take."""

LOOK_SECONDS = 20.0
"""Time that a look inside may take."""

MAX_LISTED = 1_000
"""Run folders listed. The page reads the list every 2.5 s, which takes 0.3 s for so many."""

MAX_COMPARED = 50
"""Run folders in one report."""

RECORD_BYTES = 2**20
"""How much of a run's records is read for one reply."""

LOADED_MODELS = 4
"""Models kept in memory."""
