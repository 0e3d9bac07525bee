"""Where the command `slipway` begins, also as `python -m slipway_cli`: Ctrl-C counts during the imports too."""

import sys

from slipway_cli import constraints_text, interruptible

_MISSING = """\
Error: {} is not installed, and Slipway needs it. Install what belongs together:
  slipway constraints > constraints.txt
  pip install -c constraints.txt slipway"""


def run() -> None:
    """Run the command. Without the packages that Slipway needs (`pip install --no-deps`) it can print constraints."""
    with interruptible():
        try:
            from slipway_cli.main import main
        except ModuleNotFoundError as missing:
            if sys.argv[1:] != ["constraints"]:
                sys.exit(_MISSING.format(missing.name))
            sys.stdout.write(constraints_text())
            return
        main(prog_name="slipway")


if __name__ == "__main__":
    run()
