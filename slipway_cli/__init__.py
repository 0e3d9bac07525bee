"""The command `slipway`."""
