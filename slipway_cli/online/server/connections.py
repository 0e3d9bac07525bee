"""`slipway create connection`: what leads to a provisioner or a webhook, asked, tested and stored in Airflow."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from api_client.airflow import AirflowClient
from api_client.session import ApiRefused
from api_client.webhook import Webhook
from design_rendering.redaction import is_secret_key
from provisioner_client.connection import ConnectionValues
from provisioner_client.factory import FACTORY
from provisioner_client.redacting import nothing_is_secret
from site_engine.errors import NotDelivered
from slipway_cli.online.server.online_command import answered, confirm, is_terminal, online
from slipway_cli.online.server.server import Failed, SiteServer, translated_errors
from slipway_cli.options import examples, key_values
from slipway_cli.output import printable, say_next, show_data
from strategy_lib.settings import SLIPWAY_CONNECTION_PASSWORD

_TESTING = 90.0
"""Seconds for an answer of Airflow's to a test: it waits for the provisioner."""
_FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class Form:
    """What one type of connection has.

    Attributes
    ----------
    conn_type : Airflow's name of it.
    url : an example of its address.
    login : what its user is called; None: it has none.
    password : what its password is called.
    needs_password : it cannot be used without.
    limits : fields of the extra of which one must be given, the first is asked for.
    """

    conn_type: str
    url: str
    login: str | None
    password: str
    needs_password: bool = False
    limits: tuple[str, ...] = ()


FORMS = {
    "drydock": Form("drydock", "https://drydock.example:9000", "Keystone user (empty: no credentials)", "Its password"),
    "maas": Form(
        "maas", "http://maas.example:5240/MAAS", None, "API key (consumer:token:secret)", True, ("pool", "tag")
    ),
    "ironic": Form(
        "ironic",
        "http://ironic.example:6385",
        "User (empty: no credentials)",
        "Its password",
        limits=("resource_class", "conductor_group", "owner", "lessee", "shard", "extra_key"),
    ),
    "webhook": Form("http", "https://chat.example/hooks/slipway", None, "Key that signs what is sent", True),
}


@click.command(
    "connection",
    epilog=examples(
        "slipway create connection maas slipway_provisioner_fra1",
        "slipway create connection maas slipway_provisioner --url http://maas.example:5240/MAAS "
        "--password-file maas.key --extra pool=fra1",
        "slipway create connection webhook chat_hook --url https://chat.example/hooks/slipway",
    ),
)
@click.argument("kind", type=click.Choice(list(FORMS)))
@click.argument("name")
@click.option("--url", help="Where it listens.  [asked for]")
@click.option("--login", metavar="USER", help="Its user, where it has one.  [asked for]")
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="File with the password or key; - is standard input.  [env SLIPWAY_CONNECTION_PASSWORD, else asked for]",
)
@click.option(
    "--extra", "extras", multiple=True, metavar="KEY=VALUE", help="A field of its extra; KEY=@FILE reads a file."
)
@click.option("--test/--no-test", default=True, help="Test it before it is stored (the default), or not.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a connection that is there is replaced.")
@online
def create_connection(
    server: SiteServer,
    output: str,
    kind: str,
    name: str,
    url: str | None,
    login: str | None,
    password_file: Path | None,
    extras: tuple[str, ...],
    test: bool,
    yes: bool,
) -> None:
    """Test and store a connection in Airflow, with your rights there.

    A site uses the connection slipway_provisioner_SITE, else slipway_provisioner. On a terminal what is not given is
    asked for. A password is never an argument. Airflow tests a provisioner's connection, where [core] test_connection
    is Enabled; this machine tests a webhook, by a notification of the event "test".
    """
    form = FORMS[kind]
    extra = _extra(extras)
    asks = is_terminal() and password_file != Path("-")
    url = url or (_ask("--url", f"URL, such as {form.url}") if asks else None)
    if not url:
        raise click.UsageError(f"where does it listen? --url {form.url}")
    if form.login is not None and login is None and asks and "auth_token" not in extra:
        login = _ask("--login", form.login, "")
    if kind == "drydock" and login and "auth_url" not in extra and asks:
        extra["auth_url"] = _ask("--extra auth_url=URL", "Keystone URL, such as https://keystone.example/v3")
    password = _password(form, login, password_file, asks=asks)
    if form.limits and not extra.keys() & {*form.limits}:
        if not asks:
            raise click.UsageError(f"which machines are the site's? --extra {form.limits[0]}=… ({_words(form.limits)})")
        extra[form.limits[0]] = _ask("--extra", f"{form.limits[0]} whose machines alone are the site's")
    values = ConnectionValues(form.conn_type, name, url, login=login or "", password=password, extra=extra)
    _require_usable(kind, values)
    fields = {
        "conn_type": form.conn_type,
        "host": url,
        # Without a port Airflow's "Test" takes it for another server than the stored one.
        "port": 0,
        "login": login or None,
        "password": password or None,
        "extra": json.dumps(extra),
        "description": "Made by `slipway create connection`.",
    }
    with translated_errors(server.where):
        airflow = AirflowClient(server.new_session(_TESTING))
        before = airflow.connection(name)
    if before is not None and not yes:
        leads = f"connection {name} of type {before.get('conn_type')} leads to {before.get('host')}"
        confirm(printable(f"{leads}: replace it by {url}?"), "--yes")
    said = _test(server, airflow, kind, name, fields) if test else None
    with translated_errors(server.where):
        airflow.set_connection(name, fields)
    data = {"connection": name, "type": form.conn_type, "replaced": before is not None, "test": said}
    show_data(data, output, _show)


def _show(data: Mapping[str, Any]) -> None:
    if data["test"]:
        click.echo(printable(f"tested: {data['test']}"))
    click.echo(f"connection {data['connection']} is {'replaced' if data['replaced'] else 'stored'} in Airflow")
    say_next("slipway doctor")


def _words(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _ask(option: str, question: str, default: str | None = None) -> str:
    with answered(option):
        return str(click.prompt(question, default=default, show_default=bool(default), err=True)).strip()


def _extra(given: Sequence[str]) -> dict[str, Any]:
    """Return the fields of the extra: numbers, `true` and `false` are what they look like.

    Raises `click.UsageError`: one is malformed, is given twice, or is a secret that others could see in the command.
    """
    found: dict[str, Any] = {}
    for key, value in key_values("--extra", given).items():
        if value.startswith("@"):
            found[key] = _read(Path(value[1:]))
            continue
        if is_secret_key(key):
            raise click.UsageError(f"--extra {key} is a secret: write it into a file, and --extra {key}=@FILE")
        found[key] = _plain(value)
    return found


def _plain(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | str) else text


def _read(path: Path) -> str:
    try:
        return (sys.stdin.read() if path == Path("-") else path.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _password(form: Form, login: str | None, file: Path | None, *, asks: bool) -> str:
    """Return the password. Raises `click.UsageError`: the type needs one, and nobody gave it."""
    if file is not None:
        return _read(file)
    if given := SLIPWAY_CONNECTION_PASSWORD.read(os.environ):
        return given
    if not form.needs_password and not login:
        return ""
    if not asks:
        by = f"--password-file FILE, or {SLIPWAY_CONNECTION_PASSWORD.name}"
        raise click.UsageError(f"{form.password}: give it by {by}")
    with answered("--password-file"):
        return str(click.prompt(form.password, hide_input=True, err=True)).strip()


def _require_usable(kind: str, values: ConnectionValues) -> None:
    """Raise `Failed` where the values cannot be those of such a connection; nothing is sent."""
    try:
        if kind == "webhook":
            Webhook(values.url, values.password)
        else:
            FACTORY.connect(values, nothing_is_secret).close()
    except ValueError as error:
        raise Failed(f"connection {values.id}: {error}") from error


def _test(server: SiteServer, airflow: AirflowClient, kind: str, name: str, fields: Mapping[str, Any]) -> str:
    """Return what the test says. Raises `Failed`: it is bad, or cannot be made."""
    stored = "nothing was stored (--no-test stores it all the same)"
    if kind == "webhook":
        event = {"id": str(uuid4()), "event": "test", "text": f"slipway create connection webhook {name}"}
        try:
            Webhook(fields["host"], fields["password"]).send(event["id"], event, int(time.time()))
        except NotDelivered as error:
            raise Failed(f"{error}: {stored}") from error
        return "the receiver has taken a notification from this machine"
    with translated_errors(server.where):
        try:
            good, said = airflow.test_connection(name, fields)
        except ApiRefused as error:
            if error.status != _FORBIDDEN or "disabled" not in str(error.detail).lower():
                raise
            why = "Airflow tests no connections there ([core] test_connection is not Enabled)"
            raise Failed(f"{why}: {stored}") from error
    if not good:
        raise Failed(f"{said}: {stored}")
    return said
