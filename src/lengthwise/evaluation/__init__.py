"""Measuring a stack: exact match, digits, probabilities, and how answers fail."""
