"""Facts that theory needs about this package's encoding and layout. `predict` imports it: no torch here."""

from lengthwise.theory.encodings import RELATIVE, EncodingFacts, LayoutFacts

FADING = EncodingFacts(RELATIVE, layout="aligned", implementation="lengthwise_template.encoding:Fading")
SWAPPED = LayoutFacts(fixed_width=True, implementation="lengthwise_template.layout:swapped")
