"""The command `slipway node-agent`: runs the agent, or prints the files that a node needs."""

from __future__ import annotations

from importlib.resources import files

import click

from provisioner_client.node_agent import agent

UNIT = "slipway-node-agent.service"


@click.command(
    "node-agent",
    context_settings={"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  slipway node-agent --print-unit > slipway-node-agent.service",
)
@click.option("--print-agent", "printed", flag_value="agent.py", help="Print the agent: one file for Python 3 alone.")
@click.option("--print-unit", "printed", flag_value=UNIT, help="Print the unit of systemd that runs it.")
@click.option("--listen", metavar="ADDRESS:PORT", help="Where to listen; or SLIPWAY_NODE_LISTEN.")
@click.option("--key-file", metavar="FILE", help="Has the site's key; or SLIPWAY_NODE_KEY_FILE, or SLIPWAY_NODE_KEY.")
@click.option("--node", metavar="NAME", help="The node's name in its design; or SLIPWAY_NODE_NAME, or the host's name.")
@click.option("--state-file", metavar="FILE", help="Says how this node is, as in 'initializing loads images'.")
@click.option("--certificate", metavar="FILE", help="Answer https with this certificate, in PEM.")
@click.option("--private-key", metavar="FILE", help="The certificate's key, in PEM.")
def main(printed: str | None, **options: str | None) -> None:
    """Say how this node is to Slipway's controller, and that it stops before it does.

    It runs on the node, until SIGTERM. docs/node_states.md says how to install it where there is no Slipway.
    """
    if printed is not None:
        click.echo(files("provisioner_client.node_agent").joinpath(printed).read_text(encoding="utf-8"), nl=False)
        return
    given = {name.replace("_", "-"): value for name, value in options.items() if value is not None}
    agent.main([word for name, value in given.items() for word in (f"--{name}", value)])
