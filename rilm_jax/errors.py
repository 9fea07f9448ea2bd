"""The one exception that stands for a mistake in what the user gave."""


class InputError(ValueError):
    """Bad input: one sentence that says what is wrong, where, and what to do.

    The launchers print it without a traceback and leave with a non-zero status.
    """
