"""`slipway commit`, `rollback` and `delete`: what becomes of the buffer, and of earlier revisions."""

from __future__ import annotations

from typing import Any

import click

from slipway_cli.online.client import Client
from slipway_cli.online.judged import show_messages
from slipway_cli.online.options import online, shown
from slipway_cli.online.targets import TargetGroup

_force = click.option("-f", "--force", is_flag=True, help="In spite of errors; who did it and what was wrong is kept.")
_dryrun = click.option("--dryrun", is_flag=True, help="Only judge the documents.")


def _only_one(force: bool, dryrun: bool) -> None:
    if force and dryrun:
        raise click.UsageError("--force and --dryrun exclude each other")


@click.group(cls=TargetGroup)
def commit() -> None:
    """Make what is in the buffer a revision."""


@commit.command("configdocs", epilog="Example: slipway commit configdocs --dryrun")
@_force
@_dryrun
@online
def commit_configdocs(client: Client, output: str, force: bool, dryrun: bool) -> None:
    """Judge the documents in the buffer and commit them as the site's next revision.

    Slipway and the provisioner judge them, all at once. Errors keep them from being committed, warnings do not.
    """
    _only_one(force, dryrun)
    answer = client.send("POST", "/commitconfigdocs", {"force": force, "dryrun": dryrun})
    shown(answer, output, _judged)
    _end_with(answer.json())


@click.group(cls=TargetGroup)
def rollback() -> None:
    """Go back to an earlier revision."""


@rollback.command("configdocs", epilog="Example: slipway rollback configdocs 3")
@click.argument("revision", type=click.IntRange(1))
@_force
@_dryrun
@online
def rollback_configdocs(client: Client, output: str, revision: int, force: bool, dryrun: bool) -> None:
    """Make a new revision with the documents of an earlier one; `slipway get revisions` shows which there are.

    Nothing is deployed by it: create an action afterwards. The buffer must be empty.
    """
    _only_one(force, dryrun)
    answer = client.send("POST", f"/revisions/{revision}/rollback", {"force": force, "dryrun": dryrun})
    shown(answer, output, _judged)
    _end_with(answer.json())


@click.group(cls=TargetGroup)
def delete() -> None:
    """Discard the buffer."""


@delete.command("configdocs")
@online
def delete_configdocs(client: Client, output: str) -> None:
    """Forget all collections that were put into the buffer. Revisions stay as they are."""
    client.send("DELETE", "/configdocs", {})
    if output == "table":
        click.echo(f"the buffer of site {client.where.site} is empty")


def _judged(body: Any) -> None:
    show_messages(body)
    revision = body.get("revision")
    if revision is None:
        click.echo(f"{body['message']}: nothing is committed")
        return
    again = f", with the documents of revision {body['rollback_of']}" if body.get("rollback_of") else ""
    forced = ", forced in spite of its errors" if body.get("forced") else ""
    click.echo(f"committed site {body['site']} as revision {revision}{again}{forced}")
    click.echo("next: slipway create action deploy_site --follow")


def _end_with(body: Any) -> None:
    """A dry run that found errors is no success, though the request was."""
    if body.get("revision") is None and body.get("status") == "Failure":
        raise SystemExit(1)
