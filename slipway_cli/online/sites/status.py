"""`slipway status`: what waits for a person, what is wrong, and what runs, over all sites, on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.text import Text

from slipway_cli.online.server.online_command import online
from slipway_cli.online.server.server import SiteServer
from slipway_cli.online.sites.lists import all_sites
from slipway_cli.online.sites.wishes import stopped_words
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, printable, say_next, show_data

_MOST = 10
"""Lines of each part on one screen."""
_MOST_BUFFERS = 40
"""Sites whose buffer is asked for: each is a request of its own."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing, and what to do about it.

    Attributes
    ----------
    site : where; None: it is about all sites.
    next : a command; None: nothing needs to be done.
    """

    site: str | None
    what: str
    next: str | None = None


PARTS = {
    "waits": ("Waits for you", "bold yellow"),
    "wrong": ("Is wrong", "bold red"),
    "runs": ("Runs", "bold cyan"),
}


@click.command(epilog=examples("slipway status", "slipway status --all", "slipway status -o json"))
@click.option("--all", "everything", is_flag=True, help=f"All of it, and not {_MOST} lines of each part.")
@online
def status(server: SiteServer, output: str, everything: bool) -> None:
    """Show what waits for you, what is wrong and what runs, over all sites, each with the command that comes next.

    It is of a server; `slipway describe site/NAME` tells more of one site.
    """
    sites = all_sites(server)
    buffers = {site["name"]: _buffer(server, site["name"]) for site in sites[:_MOST_BUFFERS]}
    found = {
        "waits": list(_waiting(sites, buffers)),
        "wrong": list(_wrong(sites)),
        "runs": list(_running(sites)),
    }
    data = {part: [asdict(line) for line in lines] for part, lines in found.items()} | {"sites": len(sites)}
    show_data(data, output, lambda _: _show(found, sites, None if everything else _MOST))


def _buffer(server: SiteServer, site: str) -> list[str]:
    """Return the collections of a site that were loaded and not committed."""
    answer = server.send("GET", "/configdocs", {"site": site})
    return [str(one["collection_name"]) for one in answer.json() if one["new_status"] != "unmodified"]


def _waiting(sites: Iterable[Mapping[str, Any]], buffers: Mapping[str, Sequence[str]]) -> Iterator[Line]:
    held = next((site["hold"] for site in sites if site.get("hold")), None)
    if held:
        yield Line(None, f"held: {held}")
    for site in sites:
        name, running = site["name"], site["running"]
        if running and running["asks"]:
            what = f"group {running['asks']} of action/{running['id']} waits for an approval"
            yield Line(name, what, f"slipway approve action/{running['id']} --group {running['asks']}")
        elif running and running["paused"]:
            yield Line(name, f"action/{running['id']} is paused", f"slipway unpause action/{running['id']}")
        if collections := buffers.get(name):
            yield Line(name, f"loaded, not committed: {listed(collections)}", f"slipway diff configdocs --site {name}")


def _wrong(sites: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    everywhere = False
    for site in sites:
        name, last = site["name"], site["last"]
        if site["healthy"] is False:
            yield Line(name, site["health"], f"slipway get nodes --status error --site {name}")
        failed = last is not None and last["state"] not in ("success", "running", "pending")
        if failed and not site["running"]:
            why = last["verdict"] or last["state"]
            yield Line(name, f"{last['kind']} {last['state']}: {why}", f"slipway report action/{last['id']}")
        stop = site["repair_stopped"]
        if stop and not (stop["all_sites"] and everywhere):
            everywhere = everywhere or stop["all_sites"]
            of_all = stop["all_sites"]
            said = f"repair is {stopped_words('', stop['by'], stop['at'], stop['reason'])}"
            after = "slipway start repair --all-sites" if of_all else f"slipway start repair --site {name}"
            yield Line(None if of_all else name, said, after)


def _running(sites: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    for site in sites:
        running = site["running"]
        if running:
            what = f"{running['kind']} to revision {running['revision']}, by {running['user']}"
            yield Line(site["name"], what, f"slipway describe action/{running['id']} --follow")


def _show(found: Mapping[str, Sequence[Line]], sites: Sequence[Mapping[str, Any]], most: int | None) -> None:
    target = console()
    if not sites:
        target.print(Text("there is no site yet"))
        say_next("slipway create configdocs --help")
        return
    for part, lines in found.items():
        title, style = PARTS[part]
        if not lines:
            continue
        target.print(Text(f"{title} ({len(lines)}):", style))
        for line in lines[:most]:
            where = f"site {line.site}: " if line.site else ""
            target.print(Text(printable(f"  {where}{line.what}")), soft_wrap=True)
            if line.next:
                target.print(Text(printable(f"      {line.next}"), "dim"), soft_wrap=True)
        if most is not None and len(lines) > most:
            target.print(Text(f"  and {len(lines) - most} more: --all shows them", "dim"))
    behind = [site for site in sites if site["in_sync"] is False]
    quiet = "" if any(found.values()) else "; nothing waits, nothing is wrong, nothing runs"
    said = (
        f"{len(behind)} behind {'its' if len(behind) == 1 else 'their'} design" if behind else "all serve their design"
    )
    target.print(Text(f"{counted(len(sites), 'site')}: {said}{quiet}"))
    if behind and not any(site["running"] for site in behind):
        say_next(f"slipway plan update_site --site {behind[0]['name']}")
