"""`slipway edit configdocs`: a collection in the user's editor, and back to the buffer. No text is ever lost."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import click

from slipway_cli.online.documents.collection_files import Collection
from slipway_cli.online.documents.configdocs import judge, put_collection
from slipway_cli.online.server.completion import COLLECTION
from slipway_cli.online.server.online_command import TargetGroup, is_terminal, online, only_if_same
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import listed
from strategy_lib.did_you_mean import did_you_mean

_FORBIDDEN = 403
_VERSIONS = {"unmodified": "committed"}
"""Where a collection is read, by its status in the buffer."""
_HIDDEN = "***"
"""What stands in place of a secret."""
_EDITS = examples("slipway edit configdocs design", "EDITOR=nano slipway edit configdocs strategy --site lab-7")


@click.group(cls=TargetGroup, epilog=_EDITS)
def edit() -> None:
    """Change documents in your editor."""


@edit.command("configdocs", epilog=_EDITS)
@click.argument("collection", type=COLLECTION)
@online
def edit_configdocs(server: SiteServer, output: str, collection: str) -> None:
    """Open a COLLECTION of the site in your editor, and put what you saved into the buffer, where it is judged.

    The editor is that of VISUAL or EDITOR, else vi. The text is that of the buffer, else of what is committed, secrets
    included. Other collections in the buffer stay. Nothing takes effect before `slipway commit configdocs`. Where
    the text is refused, or the editor fails, it is kept in a file, which is named.
    """
    condition, before = _read(server, collection)
    with _draft(collection, before) as path:
        while True:
            _run_editor(path)
            text = path.read_bytes()
            if text == before:
                click.echo(f"collection {collection} was not changed: the buffer is as it was", err=True)
                return
            sources = Collection(text, (f"<{collection}>",), (0,))
            if not sources.has_documents:
                away = f"slipway create configdocs {collection} --empty-collection --renew"
                raise Failed(f"no document is left in it; what takes the collection away is `{away}`")
            try:
                put_collection(server, collection, sources, "renew", condition)
                break
            except Failed as error:
                if not is_terminal():
                    raise
                error.show()
                if not click.confirm("edit it again?", default=True, err=True):
                    raise Failed("nothing was put into the buffer") from error
        path.unlink()
    click.echo(f"collection {collection} is loaded into the buffer of site {server.where.site}", err=True)
    judge(server, output, dryrun=True)


def _read(server: SiteServer, collection: str) -> tuple[dict[str, str], bytes]:
    """Return the condition that the buffer is as it is now, and the collection's text.

    Raises `Failed`: there is none, or it holds secrets that the user may not see.
    """
    found = server.get("/configdocs")
    known = {str(one["collection_name"]): str(one["new_status"]) for one in found.json()}
    if collection not in known:
        hint = did_you_mean(collection, known, f"it has {listed(known) if known else 'none yet'}")
        raise Failed(f"site {server.where.site} has no collection {collection!r}; {hint}")
    if known[collection] == "deleted":
        raise Failed(f"the buffer takes collection {collection!r} away: first discard it, `slipway delete configdocs`")
    path, version = f"/configdocs/{quote(collection, safe='')}", _VERSIONS.get(known[collection], "buffer")
    try:
        answer = server.get(path, version=version, **{"cleartext-secrets": True})
    except Failed as error:
        if error.status != _FORBIDDEN:
            raise
        answer = server.get(path, version=version)
        if _HIDDEN in answer.text:
            raise Failed(f"collection {collection!r} holds secrets that you may not see: {error.message}") from error
    return only_if_same(found), answer.content


@contextlib.contextmanager
def _draft(collection: str, text: bytes) -> Iterator[Path]:
    """Return a file of mode 0600 with the text. It stays, and is named, where it was changed and the block fails."""
    handle, name = tempfile.mkstemp(prefix=f"slipway-{collection}-", suffix=".yaml")
    path = Path(name)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    try:
        yield path
    finally:
        if path.exists():
            if path.read_bytes() == text:
                path.unlink()
            else:
                again = f"slipway create configdocs {collection} -f {path} --renew"
                click.echo(f"your text is kept in {path}: {again}", err=True)


def _run_editor(path: Path) -> None:
    """Run the editor until it is closed. Raises `Failed`: it cannot be started, or ends with an error."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        status = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise Failed(f"the editor {editor!r} cannot be started ({error}): set EDITOR") from error
    if status:
        raise Failed(f"the editor {editor!r} ended with status {status}: nothing was put into the buffer")
