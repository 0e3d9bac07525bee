"""`slipway profile`: names for the servers that are used."""

from __future__ import annotations

import os

import click
from rich.text import Text

from slipway_cli.examples import examples
from slipway_cli.online.client import Failed
from slipway_cli.online.profiles import Folder, Profile, ProfileError
from slipway_cli.online.server_config import checked_url
from slipway_cli.output import console, output_option, serialised, table


@click.group(epilog=examples("slipway profile add lab https://airflow.lab.example.org --site lab-7 && slipway login"))
def profile() -> None:
    """Names for servers: each with an address, a site and a user."""


@profile.command("list", epilog=examples("slipway profile list"))
@output_option
def list_profiles(output: str) -> None:
    """Show all profiles, and which is in use."""
    try:
        current, found = Folder.of(os.environ).profiles()
    except ProfileError as error:
        raise Failed(str(error)) from error
    if output != "table":
        data = {
            "current": current,
            "profiles": [
                {"name": name, "url": item.url, "site": item.site, "user": item.user} for name, item in found.items()
            ],
        }
        click.echo(serialised(data, output), nl=False)
        return
    target = console()
    if not found:
        target.print(Text("there is no profile yet: `slipway profile add NAME URL` makes one"))
        return
    rows = table("", "Name", "Server", "Site", "User")
    for name, item in found.items():
        rows.add_row("*" if name == current else "", name, item.url, item.site or "", item.user or "")
    target.print(rows)


@profile.command(
    "add", epilog=examples("slipway profile add lab https://airflow.lab.example.org --site lab-7 --user ann")
)
@click.argument("name")
@click.argument("url")
@click.option("--site", metavar="NAME", help="The site that is meant when a command names none.")
@click.option("--user", help="The user to log in as.")
def add(name: str, url: str, site: str | None, user: str | None) -> None:
    """Add a profile, or replace it, and use it from now on."""
    try:
        folder = Folder.of(os.environ)
        address = checked_url(url)
        _, found = folder.profiles()
        folder.save_profiles(name, {**found, name: Profile(address, site, user)})
    except ProfileError as error:
        raise Failed(str(error)) from error
    click.echo(f"using profile {name}: {address}")


@profile.command("use", epilog=examples("slipway profile use lab"))
@click.argument("name")
def use(name: str) -> None:
    """Use a profile from now on."""
    try:
        folder = Folder.of(os.environ)
        chosen = folder.profile(name)
        folder.save_profiles(name, folder.profiles()[1])
    except ProfileError as error:
        raise Failed(str(error)) from error
    click.echo(f"using profile {name}: {chosen.url}")


@profile.command("remove", epilog=examples("slipway profile remove lab"))
@click.argument("name")
def remove(name: str) -> None:
    """Remove a profile, and the token that it used unless another profile uses it."""
    try:
        folder = Folder.of(os.environ)
        gone = folder.profile(name)
        current, found = folder.profiles()
        left = {key: item for key, item in found.items() if key != name}
        folder.save_profiles(None if current == name else current, left)
        if not any(_shares_login(item, gone) for item in left.values()):
            folder.forget_login(gone.url, gone.user)
    except ProfileError as error:
        raise Failed(str(error)) from error
    click.echo(f"removed profile {name}")


def _shares_login(one: Profile, other: Profile) -> bool:
    """Whether both may use one login; a profile without a user uses anybody's."""
    return one.url == other.url and (one.user is None or other.user in (None, one.user))
