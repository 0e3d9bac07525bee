"""`slipway create`: documents into the buffer, and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from slipway_cli.airflow_api import AirflowApi
from slipway_cli.clock import Clock
from slipway_cli.ending import show_report
from slipway_cli.follow import follow
from slipway_cli.online.client import Client, Failed, told
from slipway_cli.online.judged import in_files, show_messages
from slipway_cli.online.options import online, shown
from slipway_cli.online.sources import Collection, collection_of
from slipway_cli.online.targets import TargetGroup
from slipway_cli.output import OutputFormat, console
from slipway_cli.printable import listed
from slipway_cli.slipway_api import SlipwayApi

KINDS = ("deploy_site", "update_site", "redeploy_server", "relabel_nodes", "destroy_nodes")
_TARGETED = ("redeploy_server", "relabel_nodes", "destroy_nodes")
INTERRUPTED_EXIT = 130
_NOTHING = Collection(b"", (), ())


@click.group(cls=TargetGroup)
def create() -> None:
    """Put documents into the buffer, or start an action."""


@create.command(
    "configdocs",
    epilog="Example: slipway create configdocs site-design --filename site.yaml --filename strategy.yaml",
)
@click.argument("collection")
@click.option("--filename", "-f", "filenames", multiple=True, metavar="FILE", help="File to send; may be repeated.")
@click.option(
    "--directory", "-d", "directories", multiple=True, metavar="FOLDER", help="Send all *.yaml and *.yml in it."
)
@click.option("--recurse", is_flag=True, help="Also in folders below.")
@click.option("--append", "mode", flag_value="append", help="Beside other collections that are in the buffer.")
@click.option("--replace", "mode", flag_value="replace", help="Instead of all that is in the buffer.")
@click.option("--empty-collection", is_flag=True, help="Take the collection's documents away; no files are sent.")
@online
def create_configdocs(
    client: Client,
    output: str,
    collection: str,
    filenames: tuple[str, ...],
    directories: tuple[str, ...],
    recurse: bool,
    mode: str | None,
    empty_collection: bool,
) -> None:
    """Put a whole collection of documents into the buffer of the site.

    The files are sent as they are, comments and all. Nothing takes effect before `slipway commit configdocs`. Unless
    --append or --replace says what to do with it, the buffer must be empty.
    """
    if empty_collection and (filenames or directories):
        raise click.UsageError("--empty-collection sends no files: leave --filename and --directory out")
    if not empty_collection and not filenames and not directories:
        raise click.UsageError("which documents? give --filename or --directory")
    if recurse and not directories:
        raise click.UsageError("--recurse is about --directory, which is not given")
    sources = _NOTHING if empty_collection else collection_of(filenames, directories, recurse)
    say = in_files(collection, sources)
    answer = client.send(
        "POST",
        f"/configdocs/{_segment(collection)}",
        {"buffermode": mode, "empty-collection": True if empty_collection else None},
        say,
        data=sources.text,
        headers={"Content-Type": "application/x-yaml"},
    )

    def table(body: Any) -> None:
        show_messages(body, say)
        held = listed((body.get("buffer") or {}).get("collections") or [])
        click.echo(f"collection {collection} is in the buffer of site {client.where.site}, which holds: {held}")
        click.echo("next: slipway diff configdocs committed buffer, slipway commit configdocs")

    shown(answer, output, table)


@create.command(
    "action",
    epilog="Examples: slipway create action deploy_site --follow; "
    "slipway create action redeploy_server --target-node r1-compute-07 --follow",
)
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="A parameter; may be repeated.")
@click.option("--target-node", "-n", "targets", multiple=True, metavar="NODE", help="Only this node; may be repeated.")
@click.option("--revision", type=click.IntRange(1), help="The revision to bring about.  [the newest]")
@click.option("--force", is_flag=True, help="Also nodes that are as wanted; also where critical groups would suffer.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--allow-intermediate-commits", is_flag=True, help="Go on though revisions were never deployed.")
@click.option("--follow", "-F", "following", is_flag=True, help="Show the progress, and end with the verdict.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before servers are redeployed.")
@click.option("--yes-destroy", is_flag=True, help="Do not ask for the site's name before nodes are destroyed.")
@online
def create_action(
    client: Client,
    output: str,
    kind: str,
    params: tuple[str, ...],
    targets: tuple[str, ...],
    revision: int | None,
    force: bool,
    dry_run: bool,
    allow_intermediate_commits: bool,
    following: bool,
    yes: bool,
    yes_destroy: bool,
) -> None:
    """Start an action on the site.

    deploy_site brings all nodes to the committed design, update_site those that differ from it. redeploy_server
    destroys and deploys the target nodes anew, relabel_nodes renews their labels, destroy_nodes erases them.

    With --follow it shows the groups as they proceed, and ends with the verdict: 0 success, 1 failure. Ctrl-C ends the
    following and not the action.
    """
    parameters = _parameters(params)
    if targets:
        parameters["target_nodes"] = list(targets)
    if revision is not None:
        parameters["revision"] = revision
    parameters |= {name: True for name, given in (("force", force), ("dry_run", dry_run)) if given}
    if kind in _TARGETED and not parameters.get("target_nodes"):
        raise click.UsageError(f"{kind} needs its nodes: --target-node NODE, once for each")
    if not parameters.get("dry_run"):
        _confirm(client.where.site, kind, _names(parameters.get("target_nodes")), yes, yes_destroy)
    body: dict[str, Any] = {"name": kind}
    if parameters:
        body["parameters"] = parameters
    answer = client.send("POST", "/actions", {"allow-intermediate-commits": allow_intermediate_commits}, json=body)
    action = answer.json()
    if following:
        _follow(client, action, output)
        return

    def table(body: Any) -> None:
        show_messages({"details": {"messageList": body.get("warnings") or []}})
        click.echo(
            f"action {body['id']}: {kind} of site {client.where.site}, revision {body.get('revision')}: "
            f"{body['action_lifecycle']}"
        )
        click.echo(f"next: slipway describe action/{body['id']}, slipway stop action/{body['id']}")

    shown(answer, output, table)


def _follow(client: Client, action: dict[str, Any], output: str) -> None:
    """Show the action's progress until it is over, and end the process with its verdict."""
    clock = Clock(console(stderr=output != OutputFormat.TABLE))
    show_messages({"details": {"messageList": action.get("warnings") or []}})
    clock.say(f"action {action['id']}: {action['name']} of site {client.where.site}, revision {action.get('revision')}")
    advice = f"the action goes on; look again with `slipway describe action/{action['id']}`"
    try:
        with told(client.where):
            airflow, slipway = AirflowApi(client.session), SlipwayApi(client.session)
            state, progress = follow(action["dag_id"], action["id"], airflow, slipway, clock, advice=advice)
    except KeyboardInterrupt:
        click.echo(
            f"\naction {action['id']} goes on. Stop it: slipway stop action/{action['id']}; "
            f"look at it: slipway describe action/{action['id']}",
            err=True,
        )
        raise SystemExit(INTERRUPTED_EXIT) from None
    if progress is None:
        raise Failed(f"action {action['id']} left nothing to show; its run ended: {state}")
    if progress.report is None and progress.verdict:
        clock.say(f"{progress.state}: {progress.verdict}")
    else:
        show_report(progress, output, clock)
    raise SystemExit(0 if progress.state == "success" else 1)


def _parameters(params: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in params:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise click.UsageError(f"--param {text}: write KEY=VALUE")
        found[key] = value
    return found


def _names(targets: object) -> list[str]:
    return targets.replace(",", " ").split() if isinstance(targets, str) else list(targets or [])  # type: ignore[call-overload]


def _confirm(site: str, kind: str, targets: Sequence[str], yes: bool, yes_destroy: bool) -> None:
    """Ask before servers lose what is on them.

    Raises
    ------
    click.Abort
        The answer is no, or there is none.
    """
    if kind == "redeploy_server" and not yes:
        click.confirm(
            f"{listed(targets)} of site {site} will be erased and deployed anew. Go on?", abort=True, err=True
        )
    if kind == "destroy_nodes" and not yes_destroy:
        question = f"{listed(targets)} of site {site} will be erased. Type the name of the site to go on"
        if click.prompt(question, err=True) != site:
            raise click.ClickException(f"that is not {site!r}: nothing was done")


def _segment(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
