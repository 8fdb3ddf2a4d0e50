"""Experiments: a run's config, the recipes that name configs, and launching them."""
