"""`slipway open`: a page of the server in the browser; its address where there is none."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from urllib.parse import quote

import click

from slipway_cli.online.server.completion import ACTION, NODES, SITE
from slipway_cli.online.server.online_command import TargetGroup, action_id, online
from slipway_cli.online.server.server import SiteServer
from slipway_cli.options import examples
from slipway_cli.output import show_data

_OPENED = examples("slipway open site", "slipway open action/01ARZ3NDEKTSV4RRFFQ69G5FAV", "slipway open node/cmp07")


def _quoted(part: str) -> str:
    return quote(part, safe="")


def page_address(url: str, *parts: str) -> str:
    """Return the address of a page: `page_address(url, "sites", "lab-7")`; without parts that of all sites."""
    return "/".join([url, "slipway/ui", *map(_quoted, parts)]) + ("" if parts else "/")


def has_browser(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Tell whether a browser can show a window here; one within the terminal is not logged in at Airflow."""
    seen = platform in ("darwin", "win32") or any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return seen or bool(environ.get("BROWSER"))


def _open(output: str, address: str) -> None:
    opened = False
    if has_browser(os.environ):
        try:
            opened = webbrowser.open(address)
        except (webbrowser.Error, OSError):
            opened = False
    show_data({"address": address, "opened": opened}, output, lambda found: click.echo(found["address"]))


@click.group("open", cls=TargetGroup, epilog=_OPENED)
def open_() -> None:
    """Open a page in the browser: of all sites, a site, an action or a node. Its address is printed.

    Where there is no browser, such as on another machine's terminal, the address alone is printed.
    """


@open_.command("sites", epilog=examples("slipway open sites"))
@online
def open_sites(server: SiteServer, output: str) -> None:
    """Open the page of all sites."""
    _open(output, page_address(server.where.url))


@open_.command("site", epilog=examples("slipway open site", "slipway open site/lab-7"))
@click.argument("name", required=False, type=SITE)
@online
def open_site(server: SiteServer, output: str, name: str | None) -> None:
    """Open the page of a site; without NAME it is the site of the other commands (--site)."""
    _open(output, page_address(server.where.url, "sites", name or server.where.site))


@open_.command("action", epilog=examples("slipway open action/01ARZ3NDEKTSV4RRFFQ69G5FAV"))
@click.argument("action", type=ACTION)
@online
def open_action(server: SiteServer, output: str, action: str) -> None:
    """Open the page of an ACTION."""
    _open(output, page_address(server.where.url, "actions", action_id(action)))


@open_.command("node", epilog=examples("slipway open node/cmp07 --site lab-7"))
@click.argument("node", type=NODES)
@online
def open_node(server: SiteServer, output: str, node: str) -> None:
    """Open the page of a NODE of the site."""
    _open(output, page_address(server.where.url, "sites", server.where.site, "nodes", node.removeprefix("node/")))
