"""A page to play with: predictions, trained models and runs, served to the browser of this machine."""
