"""`slipway import`: write documents from what a provisioner has, ready to edit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.text import Text

from api_client.slipway import VALIDATION_TIMEOUT
from design_rendering.kinds.imported_site import NODES_FILE, SITE_FILE, STRATEGY_FILE
from site_engine.provisioners import DEFAULT_CONNECTION
from slipway_cli.online.server.online_command import online
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, printable, say_next, show_data

_NAME = re.compile(r"[a-z]+\.yaml")
F = TypeVar("F", bound=Callable[..., Any])


@click.group("import")
def import_() -> None:
    """Write documents from what a provisioner has."""


def _options(command: F) -> F:
    connection = click.option(
        "--connection", metavar="NAME", default=DEFAULT_CONNECTION, show_default=True, help="Airflow connection to it."
    )
    directory = click.option(
        "--directory",
        "-d",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(),
        help="Where the files are written.  [here]",
    )
    force = click.option(
        "--force", is_flag=True, help="Write over files that are there; what they had is kept beside them."
    )
    return connection(directory(force(command)))


def _examples(kind: str) -> str:
    return examples(
        f"slipway import {kind} --connection slipway_provisioner_fra1 --directory fra1",
        "slipway validate fra1/*.yaml",
        "slipway create configdocs design --directory fra1 --site fra1",
    )


@import_.command("maas", epilog=_examples("maas"))
@_options
@online
def import_maas(server: SiteServer, output: str, connection: str, directory: Path, force: bool) -> None:
    """Write documents from the machines that a connection to MAAS leads to: zones, pools, tags, images.

    site.yaml says what all share, nodes.yaml has a document for each machine, and strategy.yaml a group for each rack.
    Edit them; nothing is sent anywhere before `slipway create configdocs`. They hold no secret. The connection stays in
    Airflow, and Slipway asks MAAS; of other machines than those of its pool or tag nothing is known.
    """
    _import(server, output, "maas", connection, directory, force=force)


@import_.command("ironic", epilog=_examples("ironic"))
@_options
@online
def import_ironic(server: SiteServer, output: str, connection: str, directory: Path, force: bool) -> None:
    """Write documents from the nodes that a connection to Ironic leads to: images, disks, traits, BMCs, ports.

    site.yaml says what all share, nodes.yaml has a document for each node, and strategy.yaml a group for each rack.
    Edit them; nothing is sent anywhere before `slipway create configdocs`. They hold no secret. The connection stays in
    Airflow, and Slipway asks Ironic; of nodes beyond the limits of the connection nothing is known.
    """
    _import(server, output, "ironic", connection, directory, force=force)


def _import(server: SiteServer, output: str, kind: str, connection: str, directory: Path, *, force: bool) -> None:
    if not force:
        _require_free(directory, (SITE_FILE, NODES_FILE, STRATEGY_FILE))
    answer = server.send("GET", f"/imports/{kind}", {"connection": connection}, timeout=VALIDATION_TIMEOUT).json()
    texts = {str(one["name"]): str(one["text"]) for one in answer["files"]}
    written, kept = _write(directory, texts, force=force)
    result = {
        "connection": answer["connection"],
        "machines": answer["machines"],
        "files": written,
        "kept": kept,
        "left_out": answer["left_out"],
    }
    show_data(result, output, _show)


def _show(result: Mapping[str, Any]) -> None:
    target = console()
    for left in result["left_out"]:
        target.print(Text(f"left out: {printable(left['name'])}: {printable(left['reason'])}", style="yellow"))
    files: Sequence[str] = result["files"]
    if result["kept"]:
        target.print(Text(f"what was there is kept in {listed(result['kept'])}", style="yellow"), soft_wrap=True)
    target.print(f"{counted(result['machines'], 'machine')} written to {listed(files)}")
    say_next(f"slipway validate {' '.join(files)}")


def _write(directory: Path, files: Mapping[str, str], *, force: bool) -> tuple[list[str], list[str]]:
    """Write the files, once all texts are on the disk; what was there, and has another text, is kept beside them.

    Returns the files, and those in which earlier ones are kept. Raises `Failed`: one is there, or cannot be written.
    """
    if strange := [name for name in files if not _NAME.fullmatch(name)]:
        raise Failed(f"the server names files that are none: {listed([printable(name) for name in strange])}")
    if not force:
        _require_free(directory, files)
    drafts = {directory / f".{name}.new": text for name, text in files.items()}
    places = [directory / name for name in files]
    kept: list[Path] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for draft, text in drafts.items():
            draft.write_text(text, encoding="utf-8")
        for draft, place in zip(drafts, places, strict=True):
            if place.exists() and place.read_bytes() != draft.read_bytes():
                kept.append(_keep(place))
            draft.replace(place)
    except OSError as error:
        raise Failed(f"{error.filename or directory} cannot be written: {error.strerror or error}") from error
    return list(map(str, places)), list(map(str, kept))


def _keep(place: Path) -> Path:
    """Keep a file under a name that is free, and under which it is no document of the folder; return that."""
    for number in count(1):
        earlier = place.with_name(f"{place.name}.{number}")
        try:
            # Unlike a renaming, it never replaces what is there.
            with earlier.open("xb") as file:
                file.write(place.read_bytes())
        except FileExistsError:
            continue
        return earlier
    raise AssertionError("a number is free")  # pragma: no cover


def _require_free(directory: Path, names: Iterable[str]) -> None:
    there = [str(directory / name) for name in names if (directory / name).exists()]
    if there:
        verb = "is" if len(there) == 1 else "are"
        raise Failed(f"{listed(there)} {verb} there already: give --force to write over, or another --directory")
