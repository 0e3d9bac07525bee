"""`slipway completion`: the script with which a shell completes Slipway's commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from slipway_cli.examples import examples


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
