"""The root of the exceptions of the command line; each of them is told to the user as one message."""


class SlipwayCliError(Exception):
    """The command cannot do what was asked; the message says why and what to do."""
