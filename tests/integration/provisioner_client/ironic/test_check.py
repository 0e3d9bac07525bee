"""What the form's "Test" says of a connection to a real Ironic: address, credentials, version, and which nodes it is
about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection

from provisioner_client.ironic.api import VERSION_HEADER
from slipway_airflow.hook import IronicHook
from tests.support.embedded_ironic import EmbeddedIronic, running_ironic
from tests.support.ironic_sites import IronicTestSite

pytestmark = pytest.mark.endurance

NOWHERE = "http://127.0.0.1:9"


def said_of(ironic: EmbeddedIronic, extra: dict[str, Any], **more: Any) -> tuple[bool, str]:
    """Press the button of a form with these fields."""
    hook = IronicHook("north")
    given = {"host": ironic.url, "login": "slipway", "password": ironic.password, "port": 0, **more}
    made = Connection(conn_id="north", conn_type="ironic", extra=json.dumps(extra), **given)
    vars(hook)["connection"] = made
    return hook.test_connection()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"password": "guessed-4711"}, "401: the credentials are refused; correct user and password, or the token, of"),
        ({"login": None, "password": None}, "401: Authorization required; correct user and password, or the token, of"),
        ({"host": "{url}/nowhere"}, "Ironic's API is not at {url}/nowhere: its URL is like http://ironic:6385"),
        ({"host": "https://{server}"}, "what listens there does not speak TLS: is it http:// and not https://"),
        ({"host": NOWHERE}, "(Connection refused); see that it runs there, or correct the address in the connection"),
        ({"host": None}, "it has no Ironic URL"),
    ],
)
def test_what_is_wrong_with_a_connection_is_said_with_what_to_do(
    ironic: EmbeddedIronic, more: dict[str, Any], said: str
) -> None:
    places = {"url": ironic.url, "server": ironic.url.removeprefix("http://")}
    filled = {name: value and value.format(**places) for name, value in more.items()}
    works, message = said_of(ironic, {"resource_class": "any"}, **filled)
    assert (works, said.format(**places) in message) == (False, True), message
    assert ironic.password not in message
    assert "guessed-4711" not in message


def test_each_limit_is_one_and_what_it_leads_to_is_said(site: IronicTestSite) -> None:
    """Without a limit there is no site: never all nodes of a shared Ironic by accident."""
    name = site.name
    site.enroll([f"{name}-a", f"{name}-b"])
    given = [{"op": "add", "path": f"/{path}", "value": name} for path in ("owner", "lessee", "shard", "extra/hall")]
    session = site.ironic.session()
    session.headers[VERSION_HEADER] = "1.82"
    assert session.patch(f"{site.ironic.url}/v1/nodes/{name}-a", json=given, timeout=30).ok
    known = len(site.call("GET", "nodes?fields=uuid").json()["nodes"])
    for extra, mine in (
        ({"owner": name}, 1),
        ({"lessee": name}, 1),
        ({"shard": name}, 1),
        ({"extra_key": "hall", "extra_value": name}, 1),
        ({"resource_class": name}, 2),
        ({"resource_class": name, "extra_key": "hall", "extra_value": name}, 1),
    ):
        works, message = said_of(site.ironic, extra)
        its = f"all {mine} of its nodes. Where others use" if mine == known else f"{mine} of {known} nodes"
        assert (works, its in message) == (True, True), message
    for extra in ({"owner": "x" + name}, {"resource_class": name, "shard": "s"}, {"conductor_group": name}):
        works, message = said_of(site.ironic, extra)
        assert (works, "no node yet. A site with enroll: true enrols its own; else correct" in message) == (True, True)
    for nothing in ({}, {"resource_class": " "}, {"extra_key": "hall"}):
        works, message = said_of(site.ironic, nothing)
        assert (works, "must limit the site's part" in message or "belong together" in message) == (False, True)


@pytest.mark.timeout(300)
def test_an_old_ironic_is_refused_with_both_numbers_and_a_conductor_group_is_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ironic itself, told to be its release 21.3, of 2023, which has no shards yet."""
    monkeypatch.setenv("OS_DEFAULT__PIN_RELEASE_VERSION", "21.3")
    monkeypatch.setenv("OS_CONDUCTOR__CONDUCTOR_GROUP", "fra1")
    with running_ironic(tmp_path) as ironic:
        works, message = said_of(ironic, {"shard": "s1"})
        assert not works
        assert "speaks the versions 1.1 to 1.81 of its API, and Slipway needs 1.82 for shards: update Ironic" in message
        nodes = IronicTestSite(ironic, "any")
        made = {"driver": "slipway", "resource_class": "any", "conductor_group": "fra1"}
        assert nodes.call("POST", "nodes", {"name": "g1", **made}).status_code == 201
        works, message = said_of(ironic, {"conductor_group": "Fra1"})
        assert (works, "the site is conductor group fra1: all 1 of its nodes." in message) == (True, True), message
        assert "no node yet" in said_of(ironic, {"conductor_group": "fra2"})[1]
