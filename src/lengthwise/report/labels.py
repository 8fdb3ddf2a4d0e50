"""What rows of tables are called."""

from lengthwise.theory.encodings import encoding_facts


def positions_label(encoding: str, layout: str) -> str:
    """The encoding, and the layout where it is not its natural one.

    >>> positions_label("rotary", "aligned"), positions_label("rotary", "padded")
    ('rotary', 'rotary, padded')
    """
    return encoding if layout == encoding_facts(encoding).layout else f"{encoding}, {layout}"
