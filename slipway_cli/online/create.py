"""`slipway create`: documents into the buffer, and actions."""

from __future__ import annotations

import click

from slipway_cli.online.create_action import create_action
from slipway_cli.online.create_configdocs import create_configdocs
from slipway_cli.online.targets import TargetGroup


@click.group(cls=TargetGroup)
def create() -> None:
    """Put documents into the buffer, or start an action."""


create.add_command(create_configdocs)
create.add_command(create_action)
