"""Tables and pictures, from predictions and records alone."""
