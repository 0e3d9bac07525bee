"""The command `slipway`: the list of its commands. Each is imported when it is run; errors are one line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from site_engine.errors import EngineError
from slipway_cli import SlipwayCliError, interruptible
from slipway_cli.online.server.shared_options import shared_options
from strategy_lib.settings import SettingError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command lives and what `slipway --help` says of it, under which heading, without importing it."""

    target: str
    short_help: str
    section: str = "Commands"

    def load(self, name: str) -> click.Command:
        """Import the command.

        Raises `click.ClickException` when the module cannot be imported; a broken or partial installation must not end
        in a traceback.
        """
        module_name, _, attribute = self.target.partition(":")
        try:
            command = getattr(importlib.import_module(module_name), attribute)
        except (ImportError, AttributeError) as problem:
            raise click.ClickException(
                f"The command '{name}' is not part of this installation ({problem}). Install Slipway anew."
            ) from problem
        if not isinstance(command, click.Command):
            raise click.ClickException(f"The command '{name}' ({self.target}) is not a click command.")
        return command


class LazyGroup(click.Group):
    """Group with lazy commands, so that help stays fast and offline commands load neither Airflow nor a database."""

    def __init__(self, *args: Any, lazy: Mapping[str, LazyCommand] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = dict(lazy or {})

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command as click does; end with status 1 and one sentence when output cannot be written."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            _tell(error)
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it cannot do is one message, and no traceback."""
        try:
            with interruptible():
                return super().invoke(ctx)
        except (SlipwayCliError, SettingError, EngineError) as error:
            if isinstance(error, click.ClickException):
                raise
            from slipway_cli.output import printable

            message = "\n".join(printable(line) for line in str(error).split("\n"))
            raise click.ClickException(message) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return commands in the order in which they were declared, which is the order in which they are used."""
        return [*self._lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self._lazy.get(cmd_name)
        return lazy.load(cmd_name) if lazy else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the declarations alone: asking each command would import them all."""
        width = formatter.width - 6 - max((len(name) for name in self.list_commands(ctx)), default=0)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, lazy in self._lazy.items():
            sections.setdefault(lazy.section, []).append((name, lazy.short_help))
        for name in super().list_commands(ctx):
            row = (name, self.commands[name].get_short_help_str(width))
            sections.setdefault("Commands", []).append(row)
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands from the declarations alone, and options."""
        from click.shell_completion import CompletionItem

        known = {name: lazy.short_help for name, lazy in self._lazy.items()}
        known |= {name: self.commands[name].get_short_help_str() for name in super().list_commands(ctx)}
        names = [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]
        # Not the group's own way, which asks each command and so imports them all.
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


# Errors of writing to an open file. A reader that has gone away (EPIPE) is not among them: click ends silently.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EROFS}


def _tell(error: OSError) -> None:
    _discard(sys.stdout)
    try:
        print(f"Error: {error.filename or 'the output'} cannot be written: {error.strerror}.", file=sys.stderr)
    except OSError:
        _discard(sys.stderr)


def _discard(stream: Any) -> None:
    """Discard what is still in the stream's buffer: Python would write it again at its end, and fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from site_engine.version import version

        click.echo(f"slipway {version()}")
        context.exit()


SERVER, HERE, FILES, MORE = "Operate sites", "Run Slipway here", "Work on files alone", "More"

_ROWS = {
    (SERVER, "slipway_cli.online."): {
        "login": ("server.login:login", "Log in to a server, with a user of its Airflow."),
        "logout": ("server.login:logout", "Forget the token of a server."),
        "whoami": ("server.whoami:whoami", "Show as whom you work, where, and what you may do."),
        "profile": ("server.login:profile", "Names for the servers that are used."),
        "create": ("actions.create:create", "Load documents, start an action, store a connection."),
        "edit": ("documents.edit:edit", "Change documents in your editor."),
        "diff": ("documents.configdocs:diff", "Compare two states of a site's documents."),
        "commit": ("documents.configdocs:commit", "Make what was loaded a revision."),
        "rollback": ("documents.configdocs:rollback", "Go back to an earlier revision."),
        "delete": ("documents.configdocs:delete", "Discard what was loaded."),
        "status": ("sites.status:status", "Show what waits for you, what is wrong, and what runs."),
        "get": ("sites.get:get", "List actions, documents, revisions, statuses."),
        "describe": ("actions.describe:describe", "Show one action, step, revision or note."),
        "open": ("server.open_page:open_", "Open a page in the browser."),
        "report": ("actions.describe:report", "Show what became of an action."),
        "logs": ("actions.describe:logs", "Show what a step of an action has logged."),
        "retry": ("actions.control:retry", "Try again what failed in an action."),
        "touch": ("sites.wishes:touch", "Ask for nodes again."),
        "adopt": ("sites.wishes:adopt", "Take over nodes that are deployed."),
        "set": ("sites.node_states:set_", "Take nodes out of use, and bring them back."),
        "approve": ("actions.control:approve", "Answer a group that waits for a person."),
        "start": ("sites.wishes:start", "Let the repair of a site go on."),
        "stop": ("actions.control:stop", "End an action, or all repair of a site."),
        "pause": ("actions.control:pause", "Let no further group of an action start."),
        "unpause": ("actions.control:unpause", "Let a paused action go on."),
        "import": ("documents.import_site:import_", "Write documents from what a provisioner has."),
    },
    (HERE, ""): {
        "doctor": ("slipway_cli.doctor:doctor", "Find what is wrong with an installation."),
        "demo": ("slipway_cli.demo.command:demo", "Deploy a site with a real Airflow and simulated machines."),
        "up": ("slipway_cli.up:up", "Run Slipway in the foreground until Ctrl-C."),
        "controller": (
            "slipway_cli.controller:controller",
            "Close dead actions and check provisioners, beside Airflow.",
        ),
        "controller-role": (
            "slipway_cli.controller_role:controller_role",
            "Print what makes the controller's account in Airflow.",
        ),
        "environment": (
            "slipway_cli.embedded.environment_file:environment",
            "Print the variables of a site in production, with new secrets.",
        ),
        "simulator": ("provisioner_client.simulator.cli:main", "Serve Drydock's API, simulated."),
        "node-agent": ("provisioner_client.node_agent.cli:main", "Say how a node is, on that node."),
        "store": ("site_store.__main__:main", "Look after Slipway's own database."),
        "dags": ("slipway_cli.help:dags", "Find the DAGs, for an Airflow of your own."),
        "constraints": ("slipway_cli.help:constraints", "Print the versions that fit together, for pip."),
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
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main(**_shared: object) -> None:
    """Deploy sites of baremetal servers, group by group, on Apache Airflow.

    The options below are about the commands that operate sites; they may also stand after the command.
    """
