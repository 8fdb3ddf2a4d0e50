"""Runs: from a config to a finished run folder, and back from a folder to a model."""
