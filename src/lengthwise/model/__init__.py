"""The transformer: it receives ids and positions and knows nothing of numbers.

Importing this package imports no torch, so that `lengthwise.model.config` stays light.
"""
