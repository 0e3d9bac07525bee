"""`slipway create configdocs`: a collection of documents, sent as its files are written."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from api_client.slipway import VALIDATION_TIMEOUT
from slipway_cli.examples import examples
from slipway_cli.online.client import Client, Failed
from slipway_cli.online.messages import in_files, messages_of, print_messages
from slipway_cli.online.options import online, shown
from slipway_cli.online.sources import Collection, collection_of
from slipway_cli.online.upload_cache import LoadedFiles, version_of
from slipway_cli.output import console
from slipway_cli.printable import counted, listed

_NOTHING = Collection(b"", (), ())


@click.command(
    "configdocs",
    epilog=examples(
        "slipway create configdocs design -f site.yaml -f strategy.yaml",
        "slipway create configdocs nodes --directory nodes --recurse --append",
    ),
)
@click.argument("collection")
@click.option("--filename", "-f", "filenames", multiple=True, metavar="FILE", help="File to send; may be repeated.")
@click.option(
    "--directory", "-d", "directories", multiple=True, metavar="FOLDER", help="Send all *.yaml and *.yml in it."
)
@click.option("--recurse", is_flag=True, help="Also those in folders below.")
@click.option("--append", is_flag=True, help="Beside the other collections that are in the buffer.")
@click.option("--replace", is_flag=True, help="Instead of all that is in the buffer, other collections too.")
@click.option("--empty-collection", is_flag=True, help="Take the collection's documents away; no files are sent.")
@online
def create_configdocs(
    client: Client,
    output: str,
    collection: str,
    filenames: tuple[str, ...],
    directories: tuple[str, ...],
    recurse: bool,
    append: bool,
    replace: bool,
    empty_collection: bool,
) -> None:
    """Put a whole COLLECTION of documents into the buffer of the site.

    The files are sent as they are, comments and all; `-f -` is standard input. Nothing takes effect before
    `slipway commit configdocs`. Unless --append or --replace says what to do with it, the buffer must be empty.
    """
    if append and replace:
        raise click.UsageError("--append and --replace exclude each other")
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
    mode = "append" if append else "replace" if replace else None
    say = in_files({collection: sources})
    answer = client.send(
        "POST",
        f"/configdocs/{quote(collection, safe='')}",
        {"buffermode": mode, "empty-collection": True if empty_collection else None},
        lambda _: say,
        data=sources.text,
        headers={"Content-Type": "application/x-yaml"},
        timeout=VALIDATION_TIMEOUT,
    )
    LoadedFiles(client.where).remember(version_of(answer.headers), collection, sources, alone=not append)

    def table(body: Any) -> None:
        print_messages(console(stderr=True), messages_of(body), say)
        held = sorted((body.get("buffer") or {}).get("collections") or [])
        files = f" ({counted(len(sources.names), 'file')})" if sources.names else ""
        what = "is to be taken away" if empty_collection else f"is loaded{files}"
        click.echo(f"collection {collection} {what}; the buffer of site {client.where.site} holds: {listed(held)}")
        click.echo("next: slipway diff configdocs committed buffer; slipway commit configdocs")

    shown(answer, output, table)
