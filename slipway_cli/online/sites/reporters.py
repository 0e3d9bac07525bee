"""`slipway create`, `get` and `delete reporter`: programs of others that add leaves of their own to a site's trees."""

from __future__ import annotations

from operator import itemgetter
from typing import Any
from urllib.parse import quote

import click

from slipway_cli.online.server.online_command import confirm, format_time, online, only_if_same, show_answer
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import Columns, print_list, printable


@click.command("reporter", epilog=examples("slipway create reporter burn-in --site lab-7"))
@click.argument("owner")
@online
def create_reporter(server: SiteServer, output: str, owner: str) -> None:
    """Make a reporter that speaks for OWNER, and print its token: this once, it is kept nowhere.

    With it a program adds leaves of its own below entries of the site's trees. The token is all of standard output.
    """
    answer = server.send("POST", server.of_site("reporters"), {}, json={"owner": owner})

    def show(made: Any) -> None:
        said = f"reporter {made['id']} of site {server.where.site} speaks for {made['owner']}; this is its token:"
        click.echo(printable(said), err=True)
        click.echo(made["token"])

    show_answer(answer, output, show)


@click.command("reporters", epilog=examples("slipway get reporters --site lab-7"))
@online
def get_reporters(server: SiteServer, output: str) -> None:
    """List the reporters of the site, revoked ones too."""

    columns: Columns = {
        "Reporter": itemgetter("id"),
        "Owner": itemgetter("owner"),
        "Created (UTC)": lambda one: format_time(one["created"]),
        "By": itemgetter("created_by"),
        "Last used (UTC)": lambda one: format_time(one["last_used"]) or "never",
        "Revoked (UTC)": lambda one: format_time(one["revoked"]),
    }
    nothing = f"site {server.where.site} has no reporter"
    answer = server.get(server.of_site("reporters"))
    show_answer(answer, output, lambda found: print_list(found, columns, nothing))


@click.command("reporter", epilog=examples("slipway delete reporter 01ARZ3NDEKTSV4RRFFQ69G5FAV --site lab-7"))
@click.argument("reporter")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@online
def delete_reporter(server: SiteServer, output: str, reporter: str, yes: bool) -> None:
    """Revoke the token of a REPORTER, by its id. What it reported stays.

    It says for whom the reporter speaks, and asks. It is revoked only if no reporter was made or revoked meanwhile.
    """
    headers: dict[str, str] = {}
    if not yes:
        seen = server.get(server.of_site("reporters"))
        one = next((each for each in seen.json() if each["id"] == reporter), None)
        if one is None:
            raise Failed(f"site {server.where.site} has no reporter {reporter}: `slipway get reporters` lists them")
        headers = only_if_same(seen)
        used = f"last used {format_time(one['last_used'])} UTC" if one["last_used"] else "never used"
        whose = f"reporter {reporter} of site {server.where.site}, which speaks for {one['owner']}, {used}"
        confirm(printable(f"revoke {whose}?"), "--yes")
    answer = server.send("DELETE", server.of_site(f"reporters/{quote(reporter, safe='')}"), {}, headers=headers)
    show_answer(answer, output, lambda _: click.echo(f"reporter {reporter} is revoked"))
