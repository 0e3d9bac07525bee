"""Commands that only print: `slipway help`, `slipway completion`, `slipway dags` and `slipway constraints`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from slipway_cli import constraints_text
from slipway_cli.options import examples

TOPICS = {
    "configdocs": """\
Documents of a site are loaded into its buffer, collection by collection, and committed as a revision.

  slipway create configdocs NAME --filename FILE    into the buffer (--append, --renew, --replace)
  slipway edit configdocs NAME                      in your editor, and back to the buffer
  slipway get configdocs                            which collections a commit would change
  slipway diff configdocs committed buffer          what a commit would change, field by field
  slipway commit configdocs --dryrun                judge only
  slipway commit configdocs                         judge, and commit
  slipway get configdocs --collection NAME -c       read a collection
  slipway get renderedconfigdocs -c                 read what the provisioner gets
  slipway get revisions                             history
  slipway rollback configdocs N                     a new revision with the documents of revision N
  slipway delete configdocs                         discard the buffer
""",
    "actions": """\
An action brings a revision about, or does something to single nodes.

  slipway create action deploy_site --follow        all nodes, group by group
  slipway create action update_site --follow        nodes that are new, or no longer as they were left
  slipway create action redeploy_server -n NODE     erase and deploy anew
  slipway create action relabel_nodes -n NODE       renew labels
  slipway create action destroy_nodes -n NODE       erase
  slipway get actions                               the newest ones
  slipway describe action/ID                        groups, steps, notes (--follow: its status tree)
  slipway describe action/ID --tree                 how every step, group and phase stands
  slipway report action/ID                          what became of it
  slipway retry action/ID                           try again what failed (--group GROUP, --failed-nodes)
  slipway approve action/ID                         answer a group that waits for a person
  slipway stop|pause|unpause action/ID
""",
    "status": """\
How it stands: what is wanted against what is done, and who is at work.

  slipway status                                    what waits for you, what is wrong, what runs
  slipway get sites                                 all sites (--watch: as it changes)
  slipway describe site/SITE                        its groups (--depth 2: its nodes)
  slipway get nodes --status error                  nodes, filtered and sorted
  slipway describe node/NODE                        everything that ever happened to a node
  slipway describe action/ID --follow               the same as it changes, until it is over
  slipway get owners                                who is expected to work, and who is silent
""",
    "logs": """\
Each step of an action has a log for each time it was tried.

  slipway describe action/ID                        the names of its steps
  slipway logs step/ID/STEP                         the last try
  slipway logs step/ID/STEP/1                       the first one
""",
    "servers": """\
A profile is a name for a server, with the site and the user that are usual there.

  slipway profile add lab https://airflow.lab.example.org --site lab-7 --user ann
  slipway login                                     asks for the password, keeps a token
  slipway get actions --profile plant --site p-2    another server, another site
  slipway profile list | use NAME | remove NAME
  slipway whoami                                    as whom, where, until when, and what you may do
  slipway open site/SITE | action/ID | node/NODE    its page in the browser
  slipway logout

SLIPWAY_PROFILE, SLIPWAY_URL, SLIPWAY_SITE and SLIPWAY_TOKEN say the same for scripts. Without any of it, the server is
the one that `slipway up` runs here.
""",
}


@click.command("help", epilog=examples("slipway help actions"))
@click.argument("topic", required=False, type=click.Choice(list(TOPICS)))
@click.pass_context
def help_topic(context: click.Context, topic: str | None) -> None:
    """Show the commands of a topic: configdocs, actions, status, logs or servers. Without one, all commands."""
    if topic is None:
        click.echo(context.find_root().get_help())
    else:
        click.echo(TOPICS[topic], nl=False)


@click.command(epilog=examples('eval "$(slipway completion bash)"'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash and zsh put `eval "$(slipway completion bash)"` into the shell's start-up file; for fish, write the script
    to ~/.config/fish/completions/slipway.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "slipway", "_SLIPWAY_COMPLETE").source())


@click.group("dags")
def dags() -> None:
    """Find the DAGs that come with Slipway."""


@dags.command("path", epilog=examples('export AIRFLOW__CORE__DAGS_FOLDER="$(slipway dags path)"'))
def dags_path() -> None:
    """Print the folder of the DAGs that are installed with Slipway.

    Point Airflow's dags_folder at it, or the path of a DAG bundle, on every machine that runs a part of Airflow.
    """
    from slipway_cli.embedded.settings import default_dags_folder

    click.echo(default_dags_folder())


@click.command(
    epilog=examples("slipway constraints > constraints.txt", "pip install -c constraints.txt 'slipway[celery]'")
)
def constraints() -> None:
    """Print the versions of all packages that this version was tested with, as constraints for pip.

    They are one resolution for Slipway with all of its extras, Airflow included, and for each Python that it
    supports. Its tests run with Python 3.11 alone.
    """
    click.echo(constraints_text(), nl=False)
