"""The policies that are installed here, for what is judged in files, and what they changed in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from design_rendering.kinds.objects import ObjectKey
from design_rendering.policies import DesignPolicy
from site_engine.extensions import ExtensionError, installed_policies
from slipway_cli.output import printable

ByPolicy = Mapping[ObjectKey, tuple[str, ...]]


def policies() -> Mapping[str, DesignPolicy]:
    """Return the policies by name. Raises `click.ClickException`: one that is registered cannot be used."""
    try:
        return installed_policies().policies
    except ExtensionError as error:
        raise click.ClickException(printable(str(error))) from error


def by_policy_data(by_policy: ByPolicy) -> dict[str, Any]:
    """Return what a program reads of it, under `by_policy`; nothing where no policy changed anything."""
    return {"by_policy": {str(key): list(names) for key, names in sorted(by_policy.items())}} if by_policy else {}


def print_by_policy(target: Console, by_policy: ByPolicy) -> None:
    """Name each object that policies changed, in a line of its own."""
    for key, names in sorted(by_policy.items()):
        target.print(Text(printable(f"{key} is changed by policy {', '.join(names)}")), soft_wrap=True)
