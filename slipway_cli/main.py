"""The entry point of the command `slipway`: the list of its commands and nothing of their work."""

import click

from slipway_cli.lazy import LazyCommand
from slipway_cli.unwritable import CandidGroup

COMMANDS = {
    "demo": LazyCommand("slipway_cli.demo:demo", "Deploy an example site with a real Airflow and simulated machines."),
    "up": LazyCommand("slipway_cli.up:up", "Run Slipway in the foreground until Ctrl-C."),
    "validate": LazyCommand("slipway_cli.validate:validate", "Check documents; show all problems at once."),
    "plan": LazyCommand("slipway_cli.plan:plan", "Show or draw the groups, their order and their nodes."),
    "simulate": LazyCommand("slipway_cli.simulate:simulate", "Rehearse a deployment: what if these nodes failed?"),
    "simulator": LazyCommand("provisioner_client.simulator.cli:main", "Serve Drydock's API with simulated machines."),
    "store": LazyCommand("site_store.__main__:main", "Look after Slipway's own database."),
}


@click.group(
    cls=CandidGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 good, 1 the operation failed, 2 wrong use.",
)
@click.version_option(package_name="slipway", prog_name="slipway", message="%(prog)s %(version)s")
def main() -> None:
    """Deploy sites of baremetal servers, group by group, on Apache Airflow.

    validate, plan and simulate work on files alone and need no server.
    """
