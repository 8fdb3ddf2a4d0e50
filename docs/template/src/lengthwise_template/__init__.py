"""What theory needs to know of the encoding and the layout of this package. No torch here: `predict` reads it."""

from lengthwise.theory.encodings import RELATIVE, EncodingFacts, LayoutFacts

FADING = EncodingFacts(RELATIVE, layout="aligned", implementation="lengthwise_template.encoding:Fading")
SWAPPED = LayoutFacts(fixed_width=True, implementation="lengthwise_template.layout:swapped")
