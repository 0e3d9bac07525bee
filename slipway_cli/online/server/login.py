"""`slipway login`, `logout` and `profile`: tokens from Airflow, and names for servers."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import asdict

import click

from api_client.session import ApiRefused, ApiSession, ApiUnreachable
from slipway_cli.online.server.server import Failed, confirm_server
from slipway_cli.online.server.server_config import Folder, Login, Profile, checked_url, server_config
from slipway_cli.options import examples
from slipway_cli.output import Columns, output_option, print_list, say_next, show_data
from strategy_lib.settings import SLIPWAY_PASSWORD


def _no_address(_context: click.Context, _option: click.Parameter, url: str | None) -> None:
    """Say how a server is named: commands after a login would not know an address that only the login was given."""
    if url is not None:
        raise click.UsageError(
            f"a server is named for all commands, not for the login alone: `slipway profile add NAME {url}`, or "
            f"SLIPWAY_URL={url}; --profile NAME chooses among profiles"
        )


_url = click.option("--url", hidden=True, expose_value=False, callback=_no_address)


@click.command(epilog=examples("slipway login --user admin"))
@_url
@click.option("-u", "--user", help="User of Airflow.  [the profile's, else asked for]")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input, to its end.")
@click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]")
def login(user: str | None, password_stdin: bool, profile: str | None) -> None:
    """Log in to a server, with a user of its Airflow.

    The password is asked for, or taken from SLIPWAY_PASSWORD; it is never kept. What is kept is the token that Airflow
    gives for it, until that expires (after a day unless the server says otherwise), in a file of mode 0600. It is used
    for this server, if named by SLIPWAY_URL, or by a profile for this user or for none.
    """
    try:
        where = server_config(profile, None, with_token=False)
        if user and where.user not in (None, user):
            # Its commands would go on to ask for a token of the profile's user.
            raise Failed(
                f"profile {where.profile} is for user {where.user}: make another one for {user}, `slipway profile add "
                f"NAME {where.url} --user {user}`"
            )
        if sys.stdin.isatty():
            # Before anybody types a password for nothing.
            confirm_server(where)
        name = user or where.user or click.prompt("User")
        password = _password(name, where.url, password_stdin)
        with contextlib.closing(ApiSession(where.url, name, password)) as session:
            token = session.token()
        folder = Folder.of(os.environ)
        kept = Login(where.url, name, token)
        folder.save_login(kept)
    except ApiRefused as error:
        if error.status in (400, 401, 403, 422):
            raise Failed(f"{where.url} does not accept user {name!r} with this password") from error
        if error.status == 404:
            raise Failed(f"there is no Airflow 3 at {where.url}. {where.advice}") from error
        raise Failed(f"{where.url}: {error}") from error
    except ApiUnreachable as error:
        raise Failed(f"{error}. {where.advice}") from error
    until = f" and good until {kept.expires:%Y-%m-%d %H:%M} UTC" if kept.expires else ""
    click.echo(f"logged in to {where.url} as {name}; the token is in {folder.tokens_file}{until}")
    say_next(f"slipway status --profile {profile}" if profile else "slipway status")


def _password(user: str, url: str, from_stdin: bool) -> str:
    if from_stdin:
        return _not_empty(sys.stdin.read().rstrip("\r\n"))
    if given := SLIPWAY_PASSWORD.read(os.environ):
        return given
    if not sys.stdin.isatty():
        # Nobody to hide the typing from, and getpass would complain.
        return _not_empty(sys.stdin.readline().rstrip("\r\n"))
    return str(click.prompt(f"Password of {user} at {url}", hide_input=True))


def _not_empty(password: str) -> str:
    if not password:
        raise Failed("there is no password on standard input: write it there, or set SLIPWAY_PASSWORD")
    return password


@click.command(epilog=examples("slipway logout", "slipway logout --all"))
@_url
@click.option("--all", "everywhere", is_flag=True, help="Of all servers.")
@click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]")
def logout(profile: str | None, everywhere: bool) -> None:
    """Forget the token of a server. It stays valid until it expires; only this copy of it is removed."""
    folder = Folder.of(os.environ)
    if everywhere:
        folder.forget_logins()
        click.echo(f"removed {folder.tokens_file} with all tokens")
        return
    where = server_config(profile, None, with_token=False)
    there = folder.forget_login(where.url, where.user)
    click.echo(f"logged out of {where.url}" if there else f"not logged in at {where.url}: nothing to forget")


@click.group(epilog=examples("slipway profile add lab https://airflow.lab.example.org --site lab-7 && slipway login"))
def profile() -> None:
    """Names for servers: each with an address, a site and a user."""


@profile.command("list", epilog=examples("slipway profile list"))
@output_option
def list_profiles(output: str) -> None:
    """Show all profiles, and which is in use."""
    current, found = Folder.of(os.environ).profiles()
    columns: Columns = {
        "": lambda one: "*" if one[0] == current else "",
        "Name": lambda one: one[0],
        "Server": lambda one: one[1].url,
        "Site": lambda one: one[1].site or "",
        "User": lambda one: one[1].user or "",
    }
    nothing = "there is no profile yet: `slipway profile add NAME URL` makes one"
    data = {"current": current, "profiles": [{"name": name, **asdict(item)} for name, item in found.items()]}
    show_data(data, output, lambda _: print_list([*found.items()], columns, nothing))


@profile.command(
    "add", epilog=examples("slipway profile add lab https://airflow.lab.example.org --site lab-7 --user ann")
)
@click.argument("name")
@click.argument("url")
@click.option("--site", metavar="NAME", help="The site that is meant when a command names none.")
@click.option("--user", help="The user to log in as.")
def add(name: str, url: str, site: str | None, user: str | None) -> None:
    """Add a profile, or replace it, and use it from now on."""
    folder = Folder.of(os.environ)
    address = checked_url(url)
    _, found = folder.profiles()
    folder.save_profiles(name, {**found, name: Profile(address, site, user)})
    click.echo(f"using profile {name}: {address}")


@profile.command("use", epilog=examples("slipway profile use lab"))
@click.argument("name")
def use(name: str) -> None:
    """Use a profile from now on."""
    folder = Folder.of(os.environ)
    chosen = folder.profile(name)
    folder.save_profiles(name, folder.profiles()[1])
    click.echo(f"using profile {name}: {chosen.url}")


@profile.command("remove", epilog=examples("slipway profile remove lab"))
@click.argument("name")
def remove(name: str) -> None:
    """Remove a profile, and the token that it used unless another profile uses it."""
    folder = Folder.of(os.environ)
    gone = folder.profile(name)
    current, found = folder.profiles()
    left = {key: item for key, item in found.items() if key != name}
    folder.save_profiles(None if current == name else current, left)
    if not any(_shares_login(item, gone) for item in left.values()):
        folder.forget_login(gone.url, gone.user)
    click.echo(f"removed profile {name}")


def _shares_login(one: Profile, other: Profile) -> bool:
    """Whether both may use one login; a profile without a user uses anybody's."""
    return one.url == other.url and (one.user is None or other.user in (None, one.user))
