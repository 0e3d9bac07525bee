"""The command `slipway`."""


class SlipwayCliError(Exception):
    """The command cannot do what was asked; the message says why and what to do. The root of this package's errors."""
