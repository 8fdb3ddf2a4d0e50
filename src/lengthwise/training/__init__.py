"""Training a stack: data, optimizer, steps and checkpoints. What to measure comes in as a callback."""
