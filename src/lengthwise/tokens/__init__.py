"""Numbers as tensors: arithmetic on digits, sampled problems, and their layout as tokens."""
