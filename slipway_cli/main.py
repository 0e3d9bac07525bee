"""The entry point of the command `slipway`: the list of its commands and nothing of their work."""

import click

from slipway_cli.command_group import LazyCommand, LazyGroup
from slipway_cli.online.server.shared_options import shared_options

SERVER, HERE, FILES, MORE = "Operate sites", "Run Slipway here", "Work on files alone", "More"

COMMANDS = {
    "login": LazyCommand(
        "slipway_cli.online.server.login:login", "Log in to a server, with a user of its Airflow.", SERVER
    ),
    "logout": LazyCommand("slipway_cli.online.server.login:logout", "Forget the token of a server.", SERVER),
    "profile": LazyCommand("slipway_cli.online.server.login:profile", "Names for the servers that are used.", SERVER),
    "create": LazyCommand("slipway_cli.online.actions.create:create", "Load documents, or start an action.", SERVER),
    "diff": LazyCommand(
        "slipway_cli.online.documents.configdocs:diff", "Compare two states of a site's documents.", SERVER
    ),
    "commit": LazyCommand("slipway_cli.online.documents.configdocs:commit", "Make what was loaded a revision.", SERVER),
    "rollback": LazyCommand(
        "slipway_cli.online.documents.configdocs:rollback", "Go back to an earlier revision.", SERVER
    ),
    "delete": LazyCommand("slipway_cli.online.documents.configdocs:delete", "Discard what was loaded.", SERVER),
    "get": LazyCommand("slipway_cli.online.sites.get:get", "List actions, documents, revisions, statuses.", SERVER),
    "describe": LazyCommand(
        "slipway_cli.online.actions.describe:describe", "Show one action, step, revision or note.", SERVER
    ),
    "report": LazyCommand("slipway_cli.online.actions.report:report", "Show what became of an action.", SERVER),
    "logs": LazyCommand(
        "slipway_cli.online.actions.describe:logs", "Show what a step of an action has logged.", SERVER
    ),
    "retry": LazyCommand("slipway_cli.online.actions.retry:retry", "Try again what failed in an action.", SERVER),
    "touch": LazyCommand("slipway_cli.online.sites.wishes:touch", "Ask for nodes again.", SERVER),
    "adopt": LazyCommand("slipway_cli.online.sites.wishes:adopt", "Take over nodes that are deployed.", SERVER),
    "set": LazyCommand(
        "slipway_cli.online.sites.node_states:set_", "Take nodes out of use, and bring them back.", SERVER
    ),
    "approve": LazyCommand(
        "slipway_cli.online.actions.approve:approve", "Answer a group that waits for a person.", SERVER
    ),
    "start": LazyCommand("slipway_cli.online.sites.repair:start", "Let the repair of a site go on.", SERVER),
    "stop": LazyCommand("slipway_cli.online.actions.control:stop", "End an action, or all repair of a site.", SERVER),
    "pause": LazyCommand(
        "slipway_cli.online.actions.control:pause", "Let no further group of an action start.", SERVER
    ),
    "unpause": LazyCommand("slipway_cli.online.actions.control:unpause", "Let a paused action go on.", SERVER),
    "import": LazyCommand(
        "slipway_cli.online.documents.import_maas:import_", "Write documents from what MAAS has.", SERVER
    ),
    "demo": LazyCommand(
        "slipway_cli.demo.command:demo", "Deploy a site with a real Airflow and simulated machines.", HERE
    ),
    "up": LazyCommand("slipway_cli.up:up", "Run Slipway in the foreground until Ctrl-C.", HERE),
    "controller": LazyCommand(
        "slipway_cli.controller:controller", "Close dead actions and check provisioners, beside Airflow.", HERE
    ),
    "simulator": LazyCommand("provisioner_client.simulator.cli:main", "Serve Drydock's API, simulated.", HERE),
    "node-agent": LazyCommand("provisioner_client.node_agent.cli:main", "Say how a node is, on that node.", HERE),
    "store": LazyCommand("site_store.__main__:main", "Look after Slipway's own database.", HERE),
    "dags": LazyCommand("slipway_cli.help:dags", "Find the DAGs, for an Airflow of your own.", HERE),
    "validate": LazyCommand(
        "slipway_cli.offline.validate:validate", "Check documents; show all problems at once.", FILES
    ),
    "plan": LazyCommand(
        "slipway_cli.offline.plan:plan", "Show or draw the groups, their order and their nodes.", FILES
    ),
    "simulate": LazyCommand("slipway_cli.offline.simulate:simulate", "Rehearse: what if these nodes failed?", FILES),
    "help": LazyCommand("slipway_cli.help:help_topic", "Show the commands of a topic.", MORE),
    "completion": LazyCommand("slipway_cli.help:completion", "Print a shell's completion script.", MORE),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 good, 1 the operation failed, 2 wrong use.",
)
@shared_options
@click.version_option(package_name="slipway", prog_name="slipway", message="%(prog)s %(version)s")
def main(**_shared: object) -> None:
    """Deploy sites of baremetal servers, group by group, on Apache Airflow.

    The options below are about the commands that operate sites; they may also stand after the command.
    """
