"""`slipway create`, `diff`, `commit`, `rollback` and `delete configdocs`: the documents of a site."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import click
from requests import Response
from rich.text import Text

from api_client.slipway import VALIDATION_TIMEOUT
from slipway_cli.online.documents.collection_files import Collection, UploadCache, collection_of, version_of
from slipway_cli.online.server.completion import COLLECTION
from slipway_cli.online.server.online_command import TargetGroup, confirm, online, show_answer
from slipway_cli.online.server.server import (
    Failed,
    Sentence,
    SiteServer,
    in_files,
    messages_of,
    print_messages,
    sentence,
)
from slipway_cli.online.sites.lists import delete_reporter
from slipway_cli.options import REVISION, VERSION, examples, option_alias
from slipway_cli.output import OutputFormat, console, counted, listed, printable, say_next

_NOTHING = Collection(b"", (), ())


@click.command(
    "configdocs",
    epilog=examples(
        "slipway create configdocs design -f site.yaml -f strategy.yaml",
        "slipway create configdocs nodes --directory nodes --recurse --append",
    ),
)
@click.argument("collection", type=COLLECTION)
@click.option("--filename", "-f", "filenames", multiple=True, metavar="FILE", help="File to send; may be repeated.")
@click.option(
    "--directory", "-d", "directories", multiple=True, metavar="FOLDER", help="Send all *.yaml and *.yml in it."
)
@click.option("--recurse", is_flag=True, help="Also those in folders below.")
@click.option("--append", is_flag=True, help="Beside the other collections that are in the buffer.")
@click.option("--renew", is_flag=True, help="In place of this collection in the buffer; the others stay.")
@click.option("--replace", is_flag=True, help="Instead of all that is in the buffer, other collections too.")
@click.option("--empty-collection", is_flag=True, help="Take the collection's documents away; no files are sent.")
@online
def create_configdocs(
    server: SiteServer,
    output: str,
    collection: str,
    filenames: tuple[str, ...],
    directories: tuple[str, ...],
    recurse: bool,
    append: bool,
    renew: bool,
    replace: bool,
    empty_collection: bool,
) -> None:
    """Put a whole COLLECTION of documents into the buffer of the site.

    The files are sent as they are, comments and all; `-f -` is standard input. Nothing takes effect before
    `slipway commit configdocs`. Unless --append, --renew or --replace says what to do with it, the buffer must be
    empty.
    """
    if append + renew + replace > 1:
        raise click.UsageError("--append, --renew and --replace exclude each other")
    if empty_collection and (filenames or directories):
        raise click.UsageError("--empty-collection sends no files: leave --filename and --directory out")
    if not empty_collection and not filenames and not directories:
        raise click.UsageError("which documents? give --filename or --directory")
    if recurse and not directories:
        raise click.UsageError("--recurse is about --directory, which is not given")
    sources = _NOTHING if empty_collection else collection_of(filenames, directories, recurse)
    if sources.names and not sources.has_documents:
        them = "them" if len(sources.names) > 1 else "it"
        raise Failed(
            f"{listed(sources.names)}: there is no document in {them}; to take the collection's documents away, "
            f"send no files: slipway create configdocs {collection} --empty-collection"
        )
    mode = "append" if append else "renew" if renew else "replace" if replace else None
    say = in_files({collection: sources})
    answer = put_collection(server, collection, sources, mode)

    def table(body: Any) -> None:
        print_messages(console(stderr=True), messages_of(body), say)
        held = sorted((body.get("buffer") or {}).get("collections") or [])
        files = f" ({counted(len(sources.names), 'file')})" if sources.names else ""
        what = "is to be taken away" if empty_collection else f"is loaded{files}"
        click.echo(f"collection {collection} {what}; the buffer of site {server.where.site} holds: {listed(held)}")
        there = " ".join(["", *server.where.site_option])
        say_next(f"slipway diff configdocs committed buffer{there}", f"slipway commit configdocs{there}")

    show_answer(answer, output, table)


def put_collection(
    server: SiteServer,
    collection: str,
    sources: Collection,
    mode: str | None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Put a collection into the buffer, and remember of which files it is made.

    Parameters
    ----------
    sources : without a text it takes the collection away.
    mode : of the buffer; None: it must be empty.
    headers : conditions.

    Raises `Failed`: it is refused, with the lines of its files.
    """
    say = in_files({collection: sources})
    answer = server.send(
        "POST",
        f"/configdocs/{quote(collection, safe='')}",
        {"buffermode": mode, "empty-collection": None if sources.names else True},
        lambda _: say,
        data=sources.text,
        headers={"Content-Type": "application/x-yaml", **(headers or {})},
        timeout=VALIDATION_TIMEOUT,
    )
    alone = mode not in ("append", "renew")
    UploadCache(server.where).remember(version_of(answer.headers), collection, sources, alone=alone)
    return answer


_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "modified": ("~", "yellow"), "moved": (">", "cyan")}
_LONGEST_VALUE = 200


@click.group(cls=TargetGroup)
def diff() -> None:
    """Compare two states of a site's documents."""


@diff.command("configdocs", epilog=examples("slipway diff configdocs committed buffer", "slipway diff configdocs 3 4"))
@click.argument("before", type=VERSION, default="committed")
@click.argument("after", type=VERSION, default="buffer")
@click.option("--rendered", is_flag=True, help="Compare the rendered documents: what really changes for the nodes.")
@online
def diff_configdocs(server: SiteServer, output: str, before: str, after: str, rendered: bool) -> None:
    """Compare two versions, or two revisions by their numbers: per document and per field.

    A version is committed, buffer, last_site_action or successful_site_action. Secrets are not shown; that one has
    changed is.
    """
    query = {"from": before, "to": after, "rendered": True if rendered else None}
    show_answer(server.get("/diff/configdocs", **query), output, _table)


def _table(body: Any) -> None:
    target = console()
    documents = body["documents"]
    target.print(Text(f"from {_state(body['from'])} to {_state(body['to'])}: {_differ(len(documents))}"))
    for document in documents:
        mark, style = _MARKS.get(document["change"], ("?", ""))
        layer = f" ({document['layer']})" if document.get("layer") else ""
        who = document.get("by_policy")
        layer += f", changed by policy {', '.join(who)}" if who else ""
        line = f"{mark} {document['collection']}: {document['schema']} {document['name']}{layer}"
        target.print(Text(printable(line), style=style), soft_wrap=True)
        for field in document.get("fields") or []:
            mark, style = _MARKS.get(field["change"], ("?", ""))
            target.print(Text(f"    {mark} {printable(field['path'])}: {_values(field)}", style=style), soft_wrap=True)
        if document.get("fields_left_out"):
            target.print(Text("    and more"))


def _differ(number: int) -> str:
    return (
        "nothing differs" if number == 0 else f"{counted(number, 'document')} {'differs' if number == 1 else 'differ'}"
    )


def _state(state: Any) -> str:
    number = state.get("revision")
    if state.get("version") is None:
        return f"revision {number}"
    if number is None:
        return f"{state['version']} (empty)"
    # The API gives the buffer the number that its commit would get: there is no such revision yet.
    would = "would be " if state["version"] == "buffer" else ""
    return f"{state['version']} ({would}revision {number})"


def _values(field: Any) -> str:
    if field["change"] == "added":
        return _value(field.get("to"))
    if field["change"] == "removed":
        return _value(field.get("from"))
    return f"{_value(field.get('from'))} -> {_value(field.get('to'))}"


def _value(value: Any) -> str:
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


_force = click.option("-f", "--force", is_flag=True, help="In spite of errors; who did it and what was wrong is kept.")
_SPELLING = option_alias("dry-run", "dryrun")
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
def commit_configdocs(server: SiteServer, output: str, force: bool, dryrun: bool) -> None:
    """Judge the documents in the buffer and commit them as the site's next revision.

    Slipway and the provisioner judge them, all at once. Errors keep them from being committed, warnings do not. Lines
    are those of your files, if all that is in the buffer was loaded from here; else those of the collection.
    """
    _only_one(force, dryrun)
    judge(server, output, force=force, dryrun=dryrun)


def judge(server: SiteServer, output: str, *, force: bool = False, dryrun: bool = False) -> None:
    """Have the buffer judged, and unless it is a `dryrun` committed; show what comes of it.

    Raises `SystemExit`: a dry run has found errors.
    """
    loaded = UploadCache(server.where)

    def say_of(headers: Mapping[str, str]) -> Sentence:
        return in_files(loaded.collections(version_of(headers)))

    answer = server.send(
        "POST", "/commitconfigdocs", {"force": force, "dryrun": dryrun}, say_of, timeout=VALIDATION_TIMEOUT
    )
    body = answer.json()
    committed = body.get("revision") is not None
    # A commit empties the buffer, which is a change of it.
    known = loaded.collections(version_of(answer.headers) - committed)
    show_answer(answer, output, lambda data: _show_judged(data, server.where.site_option, in_files(known)))
    if committed:
        loaded.forget()
    elif output == OutputFormat.TABLE and body.get("status") != "Failure":
        say_next(" ".join(["slipway commit configdocs", *server.where.site_option]))
    _end_with(body)


@click.group(cls=TargetGroup)
def rollback() -> None:
    """Go back to an earlier revision."""


@rollback.command("configdocs", context_settings=_SPELLING, epilog=examples("slipway rollback configdocs 3"))
@click.argument("revision", type=REVISION)
@_force
@_dryrun
@online
def rollback_configdocs(server: SiteServer, output: str, revision: int, force: bool, dryrun: bool) -> None:
    """Make a new revision with the documents of REVISION, an earlier one; `slipway get revisions` lists them.

    Nothing is deployed by it: create an action afterwards. The buffer must be empty.
    """
    _only_one(force, dryrun)
    answer = server.send(
        "POST", f"/revisions/{revision}/rollback", {"force": force, "dryrun": dryrun}, timeout=VALIDATION_TIMEOUT
    )
    show_answer(answer, output, lambda data: _show_judged(data, server.where.site_option))
    _end_with(answer.json())


@click.group(cls=TargetGroup)
def delete() -> None:
    """Discard the buffer, or revoke a reporter."""


delete.add_command(delete_reporter)


@delete.command("configdocs", epilog=examples("slipway delete configdocs --yes"))
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@online
def delete_configdocs(server: SiteServer, output: str, yes: bool) -> None:
    """Forget all collections that were put into the buffer. Revisions stay as they are."""
    answer = server.get("/configdocs")
    changed = [item["collection_name"] for item in answer.json() if item["new_status"] != "unmodified"]
    if not changed:
        if output == OutputFormat.TABLE:
            click.echo(f"the buffer of site {server.where.site} is empty already")
        return
    if not yes:
        question = f"Discard what was loaded of site {server.where.site} at {server.where.url}: {listed(changed)}?"
        confirm(question, "--yes", "nothing was discarded")
    # What somebody loaded meanwhile is not what was asked about.
    server.send("DELETE", "/configdocs", {}, headers={"If-Match": answer.headers.get("ETag", "*")})
    UploadCache(server.where).forget()
    if output == OutputFormat.TABLE:
        click.echo(f"the buffer of site {server.where.site} is empty")


def _show_judged(body: Any, site_option: Sequence[str], say: Sentence = sentence) -> None:
    print_messages(console(stderr=True), messages_of(body), say)
    revision = body.get("revision")
    if revision is None:
        click.echo(f"{body['message']}: nothing is committed")
        return
    again = f", with the documents of revision {body['rollback_of']}" if body.get("rollback_of") else ""
    forced = ", in spite of its errors" if body.get("forced") else ""
    click.echo(f"committed site {body['site']} as revision {revision}{again}{forced}")
    _show_next(body, site_option)


def _show_next(body: Mapping[str, Any], site_option: Sequence[str]) -> None:
    """Say how an action goes on from here: with the options without which this revision would be refused.

    What is not the first revision is an update. It passes over revisions that were never deployed; `deploy_site` asks
    about them.
    """
    if not body.get("deployable", True):
        click.echo("no action can use it: mend the documents, load them, and commit them")
        return
    step = body["next"]
    needed = [f"--{name.replace('_', '-')}" for name, is_set in step["parameters"].items() if is_set]
    # An update may erase what is deployed: who follows these words is shown that first.
    plan = [] if step["name"] == "deploy_site" else [" ".join(["slipway plan", step["name"], *site_option, *needed])]
    if step["why"]:
        click.echo(printable(step["why"]))
    passed_over = [str(number) for number in body.get("intermediate_commits") or []]
    if passed_over:
        were, them = ("revision {} was", "it") if len(passed_over) == 1 else ("revisions {} were", "them")
        why = f"{were.format(listed(passed_over))} never deployed"
        click.echo(f"{why}: update_site passes {them} over, deploy_site needs --allow-intermediate-commits")
    if body.get("forced"):
        needed.append("--continue-on-fail")
        click.echo("an action needs --continue-on-fail: the revision has errors")
    action = " ".join([f"slipway create action {step['name']}", *site_option, *needed, "--follow"])
    say_next(*plan, action)


def _end_with(body: Any) -> None:
    """A dry run that found errors is no success, though the request was."""
    if body.get("revision") is None and body.get("status") == "Failure":
        raise SystemExit(1)
