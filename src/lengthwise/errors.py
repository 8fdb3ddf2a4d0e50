"""The one exception meant for users: what was given and what would do, in one line."""


class InputError(ValueError):
    """Bad input. The command line prints its message without a traceback and exits with code 2."""
