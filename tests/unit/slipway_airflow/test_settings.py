"""The provisioner's connection: its form and what is read from it."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from provisioner_client.connection import ConnectionValues, read_fields
from provisioner_client.ironic.connection import IronicFields
from provisioner_client.maas.connection import MaasFields
from provisioner_client.tokens import TokenFields
from site_engine.errors import SettingsError
from site_engine.provisioners import ConnectionSettings, ProvisionerConnection, connection_candidates
from slipway_airflow.connections import slipway_url
from slipway_airflow.provider import get_provider_info
from tests.conftest import ROOT

TYPES = [
    pytest.param("drydock", "Drydock", TokenFields, id="drydock"),
    pytest.param("maas", "MAAS", MaasFields, id="maas"),
    pytest.param("ironic", "Ironic", IronicFields, id="ironic"),
]


def _form(kind: str) -> dict[str, Any]:
    (found,) = [one for one in get_provider_info()["connection-types"] if one["connection-type"] == kind]
    return dict(found)


@pytest.mark.parametrize(("kind", "name", "own"), TYPES)
def test_form_shows_exactly_the_fields_that_are_read(kind: str, name: str, own: type) -> None:
    shown = _form(kind)["conn-fields"]
    read = (*fields(ConnectionSettings), *fields(own))
    assert set(shown) == {item.name for item in read}
    defaults = {item.name: item.default for item in read}
    assert {name: field["schema"].get("default") for name, field in shown.items()} == defaults


@pytest.mark.parametrize(("kind", "name", "own"), TYPES)
def test_every_field_of_the_connection_is_documented_with_its_default(kind: str, name: str, own: type) -> None:
    _, _, section = (ROOT / "docs" / "running.md").read_text().partition(f"\n## The connection to {name}\n")
    section = section.partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", section, re.MULTILINE))
    for item in (*fields(ConnectionSettings), *fields(own)):
        said = rows.pop(item.name)
        match item.default:
            case bool():
                assert said == str(item.default).lower()
            case float():
                assert said == f"{item.default:g}"
            case str():
                assert said == f"`{item.default}`"
            case None:
                assert said == "–" or said.startswith("`"), "what is taken instead"
    assert rows == {}
    for field in {"host", "port", "login", "password", "schema"} - set(
        _form(kind)["ui-field-behaviour"]["hidden-fields"]
    ):
        assert f"`{field}`" in section


@pytest.mark.parametrize(("kind", "name", "own"), TYPES)
def test_a_person_can_enter_the_port_that_airflows_test_compares(kind: str, name: str, own: type) -> None:
    assert "port" not in _form(kind)["ui-field-behaviour"]["hidden-fields"]


def test_secrets_are_password_fields() -> None:
    assert _form("drydock")["conn-fields"]["auth_token"]["schema"]["format"] == "password"


def test_missing_null_and_empty_fields_take_their_defaults() -> None:
    assert read_fields(ConnectionSettings, {"poll_interval": None, "other": 3}) == ConnectionSettings()
    assert read_fields(TokenFields, {"auth_url": "", "poll_interval": 1}) == TokenFields()


def test_zero_and_false_are_values() -> None:
    assert read_fields(ConnectionSettings, {"poll_in_worker": 0}).poll_in_worker == 0
    assert read_fields(TokenFields, {"verify_tls": False}).verify_tls is False


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"poll_interval": "soon"}, "poll_interval"),
        ({"poll_interval": -1}, "poll_interval"),
        ({"poll_interval": True}, "poll_interval"),
        ({"read_timeout": "inf"}, "read_timeout"),
        ({"read_timeout": "nan"}, "read_timeout must be a number from 0 to 315360000"),
        ({"poll_interval": 1e12}, "poll_interval must be a number from 0 to 315360000"),
        ({"queue_timeout": 10**400}, "queue_timeout must be a number from 0 to 315360000"),
        ({"verify_tls": "maybe"}, "verify_tls"),
        ({"auth_token": 7}, "auth_token"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(extra: dict[str, Any], said: str) -> None:
    connection = ProvisionerConnection(ConnectionValues("drydock", "c", "http://h", extra=extra))
    with pytest.raises(SettingsError, match=f"connection 'c': connection field {said}"):
        (connection.settings, connection.connect(str.upper))


def test_texts_from_environment_variables_are_read() -> None:
    assert read_fields(ConnectionSettings, {"poll_interval": "2.5"}).poll_interval == 2.5
    assert read_fields(TokenFields, {"verify_tls": "False"}).verify_tls is False


def test_the_sites_own_connection_comes_first() -> None:
    assert connection_candidates("alpha") == ("slipway_provisioner_alpha", "slipway_provisioner")


def test_design_address_prefers_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ConnectionValues("drydock", "c", "http://h", extra={"design_base_url": "http://a/"})
    assert ProvisionerConnection(own, "http://b/").design_address("t", 7) == "http://a/slipway/d/t?n=7"
    other = ConnectionValues("drydock", "c", "http://h")
    assert ProvisionerConnection(other, "http://b/x/").design_address("t") == "http://b/x/slipway/d/t"
    monkeypatch.setenv("SLIPWAY_URL", "http://b")
    assert slipway_url() == "http://b"
