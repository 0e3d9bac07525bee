"""The entry point of the command `slipway`: the list of its commands and nothing of their work."""

import click

from slipway_cli.command_group import LazyCommand, LazyGroup
from slipway_cli.online.server.shared_options import shared_options

SERVER, HERE, FILES, MORE = "Operate sites", "Run Slipway here", "Work on files alone", "More"

_ROWS = {
    (SERVER, "slipway_cli.online."): {
        "login": ("server.login:login", "Log in to a server, with a user of its Airflow."),
        "logout": ("server.login:logout", "Forget the token of a server."),
        "profile": ("server.login:profile", "Names for the servers that are used."),
        "create": ("actions.create:create", "Load documents, or start an action."),
        "diff": ("documents.configdocs:diff", "Compare two states of a site's documents."),
        "commit": ("documents.configdocs:commit", "Make what was loaded a revision."),
        "rollback": ("documents.configdocs:rollback", "Go back to an earlier revision."),
        "delete": ("documents.configdocs:delete", "Discard what was loaded."),
        "get": ("sites.get:get", "List actions, documents, revisions, statuses."),
        "describe": ("actions.describe:describe", "Show one action, step, revision or note."),
        "report": ("actions.describe:report", "Show what became of an action."),
        "logs": ("actions.describe:logs", "Show what a step of an action has logged."),
        "retry": ("actions.retry:retry", "Try again what failed in an action."),
        "touch": ("sites.wishes:touch", "Ask for nodes again."),
        "adopt": ("sites.wishes:adopt", "Take over nodes that are deployed."),
        "set": ("sites.node_states:set_", "Take nodes out of use, and bring them back."),
        "approve": ("actions.approve:approve", "Answer a group that waits for a person."),
        "start": ("sites.repair:start", "Let the repair of a site go on."),
        "stop": ("actions.control:stop", "End an action, or all repair of a site."),
        "pause": ("actions.control:pause", "Let no further group of an action start."),
        "unpause": ("actions.control:unpause", "Let a paused action go on."),
        "import": ("documents.import_maas:import_", "Write documents from what MAAS has."),
    },
    (HERE, ""): {
        "demo": ("slipway_cli.demo.command:demo", "Deploy a site with a real Airflow and simulated machines."),
        "up": ("slipway_cli.up:up", "Run Slipway in the foreground until Ctrl-C."),
        "controller": (
            "slipway_cli.controller:controller",
            "Close dead actions and check provisioners, beside Airflow.",
        ),
        "simulator": ("provisioner_client.simulator.cli:main", "Serve Drydock's API, simulated."),
        "node-agent": ("provisioner_client.node_agent.cli:main", "Say how a node is, on that node."),
        "store": ("site_store.__main__:main", "Look after Slipway's own database."),
        "dags": ("slipway_cli.help:dags", "Find the DAGs, for an Airflow of your own."),
    },
    (FILES, "slipway_cli.offline."): {
        "validate": ("validate:validate", "Check documents; show all problems at once."),
        "plan": ("plan:plan", "Show or draw the groups, their order and their nodes."),
        "simulate": ("simulate:simulate", "Rehearse: what if these nodes failed?"),
    },
    (MORE, "slipway_cli.help:"): {
        "help": ("help_topic", "Show the commands of a topic."),
        "completion": ("completion", "Print a shell's completion script."),
    },
}
"""By heading and beginning of the targets: each command's name to where it is, and what `slipway --help` says of it."""
COMMANDS = {
    name: LazyCommand(start + target, said, section)
    for (section, start), rows in _ROWS.items()
    for name, (target, said) in rows.items()
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
