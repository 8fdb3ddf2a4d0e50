"""The verbs of the command line, one per file. A verb imports what it needs when it runs."""
