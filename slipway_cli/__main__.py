"""Where the command `slipway` begins, also as `python -m slipway_cli`: Ctrl-C counts during the imports too."""

from slipway_cli import interruptible


def run() -> None:
    """Run the command."""
    with interruptible():
        from slipway_cli.main import main

        main(prog_name="slipway")


if __name__ == "__main__":
    run()
