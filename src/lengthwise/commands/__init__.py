"""The verbs of the command line, a class each. A verb imports what it needs when it runs."""
