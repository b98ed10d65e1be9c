"""The errors a user can meet, each with the exit code of the command that raised it."""


class ThesiskitError(Exception):
    """Something failed that the user could not have foreseen."""

    exit_code = 1


class UserError(ThesiskitError, ValueError):
    """A mistake in what the user gave: arguments, configs, data.  Also a ValueError."""

    exit_code = 2


class ConfigError(UserError):
    """A config that cannot be read or does not say something valid."""


class DataError(UserError):
    """Data that are missing, damaged, or not of the kind asked for."""


class ResultsError(ThesiskitError):
    """A results folder that cannot be written, or holds what another version wrote."""


class UnreliableWarning(UserWarning):
    """Markov chains disagree, or have too few effective draws."""
