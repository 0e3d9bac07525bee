"""The entry point of the command `slipway`: the list of its commands and nothing of their work."""

import click

from slipway_cli.lazy import LazyCommand
from slipway_cli.unwritable import CandidGroup

COMMANDS = {
    "demo": LazyCommand("slipway_cli.demo:demo", "Deploy an example site with a real Airflow and simulated machines."),
    "up": LazyCommand("slipway_cli.up:up", "Run Slipway in the foreground until Ctrl-C."),
    "login": LazyCommand("slipway_cli.online.login:login", "Log in to a server, with a user of its Airflow."),
    "logout": LazyCommand("slipway_cli.online.login:logout", "Forget the token of a server."),
    "profile": LazyCommand("slipway_cli.online.profile:profile", "Names for the servers that are used."),
    "create": LazyCommand("slipway_cli.online.create:create", "Put documents into the buffer, or start an action."),
    "diff": LazyCommand("slipway_cli.online.diff:diff", "Compare two states of a site's documents."),
    "commit": LazyCommand("slipway_cli.online.commit:commit", "Make what is in the buffer a revision."),
    "rollback": LazyCommand("slipway_cli.online.commit:rollback", "Go back to an earlier revision."),
    "delete": LazyCommand("slipway_cli.online.commit:delete", "Discard the buffer."),
    "get": LazyCommand("slipway_cli.online.get:get", "List actions, documents, revisions, workflows, statuses."),
    "describe": LazyCommand("slipway_cli.online.describe:describe", "Show an action, a step, a workflow, a note."),
    "logs": LazyCommand("slipway_cli.online.describe:logs", "Show what a step of an action has logged."),
    "stop": LazyCommand("slipway_cli.online.control:stop", "End an action."),
    "pause": LazyCommand("slipway_cli.online.control:pause", "Let no further group of an action start."),
    "unpause": LazyCommand("slipway_cli.online.control:unpause", "Let a paused action go on."),
    "validate": LazyCommand("slipway_cli.validate:validate", "Check documents; show all problems at once."),
    "plan": LazyCommand("slipway_cli.plan:plan", "Show or draw the groups, their order and their nodes."),
    "simulate": LazyCommand("slipway_cli.simulate:simulate", "Rehearse a deployment: what if these nodes failed?"),
    "simulator": LazyCommand("provisioner_client.simulator.cli:main", "Serve Drydock's API with simulated machines."),
    "store": LazyCommand("site_store.__main__:main", "Look after Slipway's own database."),
    "completion": LazyCommand("slipway_cli.completion:completion", "Print the completion script of a shell."),
    "help": LazyCommand("slipway_cli.help_topic:help_topic", "Show the commands of a topic."),
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

    validate, plan and simulate work on files alone; the commands from login to unpause talk to a server.
    """
