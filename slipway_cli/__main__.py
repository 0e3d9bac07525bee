"""`python -m slipway_cli`: the same as the command `slipway`."""

from slipway_cli.main import main

main(prog_name="slipway")
