"""`slipway commit`, `rollback` and `delete`: what becomes of the buffer, and of earlier revisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from api_client.slipway import VALIDATION_TIMEOUT
from slipway_cli.examples import examples
from slipway_cli.online.client import Client, Failed
from slipway_cli.online.messages import Sentence, in_files, messages_of, print_messages, sentence
from slipway_cli.online.option_aliases import also
from slipway_cli.online.options import online, shown
from slipway_cli.online.targets import TargetGroup
from slipway_cli.online.upload_cache import LoadedFiles, version_of
from slipway_cli.online.versions import REVISION
from slipway_cli.output import OutputFormat, console
from slipway_cli.printable import listed

_force = click.option("-f", "--force", is_flag=True, help="In spite of errors; who did it and what was wrong is kept.")
_SPELLING = also("dry-run", "dryrun")
_dryrun = click.option("--dryrun", is_flag=True, help="Only judge the documents.")


def _only_one(force: bool, dryrun: bool) -> None:
    if force and dryrun:
        raise click.UsageError("--force and --dryrun exclude each other")


@click.group(cls=TargetGroup)
def commit() -> None:
    """Make what is in the buffer a revision."""


@commit.command(
    "configdocs",
    context_settings=_SPELLING,
    epilog=examples("slipway commit configdocs --dryrun", "slipway commit configdocs"),
)
@_force
@_dryrun
@online
def commit_configdocs(client: Client, output: str, force: bool, dryrun: bool) -> None:
    """Judge the documents in the buffer and commit them as the site's next revision.

    Slipway and the provisioner judge them, all at once. Errors keep them from being committed, warnings do not. Lines
    are those of your files, if all that is in the buffer was loaded from here; else those of the collection.
    """
    _only_one(force, dryrun)
    loaded = LoadedFiles(client.where)

    def say_of(headers: Mapping[str, str]) -> Sentence:
        return in_files(loaded.collections(version_of(headers)))

    answer = client.send(
        "POST", "/commitconfigdocs", {"force": force, "dryrun": dryrun}, say_of, timeout=VALIDATION_TIMEOUT
    )
    body = answer.json()
    committed = body.get("revision") is not None
    # A commit empties the buffer, which is a change of it.
    known = loaded.collections(version_of(answer.headers) - committed)
    shown(answer, output, lambda data: _show_judged(data, in_files(known)))
    if committed:
        loaded.forget()
    _end_with(body)


@click.group(cls=TargetGroup)
def rollback() -> None:
    """Go back to an earlier revision."""


@rollback.command("configdocs", context_settings=_SPELLING, epilog=examples("slipway rollback configdocs 3"))
@click.argument("revision", type=REVISION)
@_force
@_dryrun
@online
def rollback_configdocs(client: Client, output: str, revision: int, force: bool, dryrun: bool) -> None:
    """Make a new revision with the documents of REVISION, an earlier one; `slipway get revisions` lists them.

    Nothing is deployed by it: create an action afterwards. The buffer must be empty.
    """
    _only_one(force, dryrun)
    answer = client.send(
        "POST", f"/revisions/{revision}/rollback", {"force": force, "dryrun": dryrun}, timeout=VALIDATION_TIMEOUT
    )
    shown(answer, output, _show_judged)
    _end_with(answer.json())


@click.group(cls=TargetGroup)
def delete() -> None:
    """Discard the buffer."""


@delete.command("configdocs", epilog=examples("slipway delete configdocs --yes"))
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@online
def delete_configdocs(client: Client, output: str, yes: bool) -> None:
    """Forget all collections that were put into the buffer. Revisions stay as they are."""
    answer = client.get("/configdocs")
    changed = [item["collection_name"] for item in answer.json() if item["new_status"] != "unmodified"]
    if not changed:
        if output == OutputFormat.TABLE:
            click.echo(f"the buffer of site {client.where.site} is empty already")
        return
    if not yes:
        question = f"Discard what was loaded of site {client.where.site} at {client.where.url}: {listed(changed)}?"
        try:
            if not click.confirm(question, err=True):
                raise Failed("nothing was discarded")
        except click.Abort:
            click.echo(err=True)
            raise Failed("nobody answered: nothing was discarded (--yes goes on without asking)") from None
    # What somebody loaded meanwhile is not what was asked about.
    client.send("DELETE", "/configdocs", {}, headers={"If-Match": answer.headers.get("ETag", "*")})
    LoadedFiles(client.where).forget()
    if output == OutputFormat.TABLE:
        click.echo(f"the buffer of site {client.where.site} is empty")


def _show_judged(body: Any, say: Sentence = sentence) -> None:
    print_messages(console(stderr=True), messages_of(body), say)
    revision = body.get("revision")
    if revision is None:
        click.echo(f"{body['message']}: nothing is committed")
        return
    again = f", with the documents of revision {body['rollback_of']}" if body.get("rollback_of") else ""
    forced = ", in spite of its errors" if body.get("forced") else ""
    click.echo(f"committed site {body['site']} as revision {revision}{again}{forced}")
    _show_next(body)


def _show_next(body: Mapping[str, Any]) -> None:
    """Say how an action goes on from here: with the options without which this revision would be refused."""
    if not body.get("deployable", True):
        click.echo("no action can use it: mend the documents, load them, and commit them")
        return
    needed = {}
    if body.get("forced"):
        needed["--continue-on-fail"] = "the revision has errors"
    passed_over = [str(number) for number in body.get("intermediate_commits") or []]
    if passed_over:
        were = "revision {} was" if len(passed_over) == 1 else "revisions {} were"
        needed["--allow-intermediate-commits"] = f"{were.format(listed(passed_over))} never deployed"
    for option, why in needed.items():
        click.echo(f"an action needs {option}: {why}")
    click.echo(" ".join(["next: slipway create action deploy_site", *needed, "--follow"]))


def _end_with(body: Any) -> None:
    """A dry run that found errors is no success, though the request was."""
    if body.get("revision") is None and body.get("status") == "Failure":
        raise SystemExit(1)
