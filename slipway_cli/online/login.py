"""`slipway login` and `logout`: a token from Airflow, kept where only its owner can read it."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from slipway_cli.api_session import ApiError, ApiRefused, ApiSession
from slipway_cli.online.client import Failed
from slipway_cli.online.installation import installation
from slipway_cli.online.profiles import Folder, Login, ProfileError


@click.command(epilog="Example: slipway login --user admin")
@click.option("-u", "--user", help="User of Airflow.  [the profile's, else asked for]")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input, all of it.")
@click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]")
def login(user: str | None, password_stdin: bool, profile: str | None) -> None:
    """Log in to a server, with a user of its Airflow.

    The password is asked for, or taken from SLIPWAY_PASSWORD; it is never kept. What is kept is the token that Airflow
    gives for it, until that expires (after a day unless the server says otherwise), in a file of mode 0600.
    """
    try:
        where = installation(profile, None, with_token=False)
        name = user or where.user or click.prompt("User")
        password = _password(name, where.url, password_stdin)
        with contextlib.closing(ApiSession(where.url, name, password)) as session:
            token = session.token()
        folder = Folder.of(os.environ)
        folder.save_login(where.key, Login(where.url, name, token))
    except ApiRefused as error:
        raise Failed(f"{where.url} does not accept user {name!r} with this password ({error.status})") from error
    except ApiError as error:
        raise Failed(f"{error}. Set SLIPWAY_URL, or choose a profile, if that is the wrong server") from error
    except ProfileError as error:
        raise Failed(str(error)) from error
    click.echo(f"logged in to {where.url} as {name}; the token is in {folder.tokens_file}")


def _password(user: str, url: str, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.read().rstrip("\r\n")
    given = os.environ.get("SLIPWAY_PASSWORD")
    if given:
        return given
    if not sys.stdin.isatty():
        # Nobody to hide the typing from, and getpass would complain.
        return sys.stdin.readline().rstrip("\r\n")
    answer: str = click.prompt(f"Password of {user} at {url}", hide_input=True)
    return answer


@click.command()
@click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]")
def logout(profile: str | None) -> None:
    """Forget the token of a server. It stays valid until it expires; only this copy of it is removed."""
    try:
        where = installation(profile, None, with_token=False)
        folder = Folder.of(os.environ)
        there = folder.login(where.key, where.url) is not None
        folder.save_login(where.key, None)
    except ProfileError as error:
        raise Failed(str(error)) from error
    click.echo(f"logged out of {where.url}" if there else f"not logged in at {where.url}: nothing to forget")
