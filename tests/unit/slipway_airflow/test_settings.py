"""The provisioner's connection: its form and what is read from it."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from site_engine.errors import SettingsError
from slipway_airflow.provider import get_provider_info
from slipway_airflow.settings import ConnectionSettings, connection_candidates, design_base_url
from tests.conftest import ROOT


def test_form_shows_exactly_the_fields_that_are_read() -> None:
    (connection_type,) = get_provider_info()["connection-types"]
    shown = connection_type["conn-fields"]
    assert set(shown) == {item.name for item in fields(ConnectionSettings)}
    defaults = {item.name: item.default for item in fields(ConnectionSettings)}
    assert {name: field["schema"].get("default") for name, field in shown.items()} == defaults


def test_every_field_of_the_connection_is_documented_with_its_default() -> None:
    _, _, section = (ROOT / "docs" / "running.md").read_text().partition("\n## The connection to Drydock\n")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", section.partition("\n## ")[0], re.MULTILINE))
    for item in fields(ConnectionSettings):
        said = rows.pop(item.name)
        match item.default:
            case bool():
                assert said == str(item.default).lower()
            case float():
                assert said == f"{item.default:g}"
            case None:
                assert said == "–" or said.startswith("`"), "what is taken instead"
    assert rows == {}
    (connection_type,) = get_provider_info()["connection-types"]
    for name in {"host", "port", "login", "password", "schema"} - set(
        connection_type["ui-field-behaviour"]["hidden-fields"]
    ):
        assert f"`{name}`" in section


def test_a_person_can_enter_the_port_that_airflows_test_compares() -> None:
    (connection_type,) = get_provider_info()["connection-types"]
    assert "port" not in connection_type["ui-field-behaviour"]["hidden-fields"]


def test_secrets_are_password_fields() -> None:
    (connection_type,) = get_provider_info()["connection-types"]
    assert connection_type["conn-fields"]["auth_token"]["schema"]["format"] == "password"


def test_missing_null_and_empty_fields_take_their_defaults() -> None:
    assert ConnectionSettings.from_extra({"poll_interval": None, "auth_url": "", "other": 3}) == ConnectionSettings()


def test_zero_and_false_are_values() -> None:
    settings = ConnectionSettings.from_extra({"poll_in_worker": 0, "verify_tls": False})
    assert settings.poll_in_worker == 0
    assert settings.verify_tls is False


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"poll_interval": "soon"}, "poll_interval"),
        ({"poll_interval": -1}, "poll_interval"),
        ({"poll_interval": True}, "poll_interval"),
        ({"read_timeout": "inf"}, "read_timeout"),
        ({"verify_tls": "maybe"}, "verify_tls"),
        ({"auth_token": 7}, "auth_token"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(extra: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        ConnectionSettings.from_extra(extra)


def test_texts_from_environment_variables_are_read() -> None:
    settings = ConnectionSettings.from_extra({"poll_interval": "2.5", "verify_tls": "False"})
    assert (settings.poll_interval, settings.verify_tls) == (2.5, False)


def test_the_sites_own_connection_comes_first() -> None:
    assert connection_candidates("alpha") == ("slipway_provisioner_alpha", "slipway_provisioner")


def test_design_address_prefers_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_URL", "http://b/")
    own = ConnectionSettings(design_base_url="http://a/")
    assert design_base_url(own, "http://c") == "http://a"
    assert design_base_url(ConnectionSettings(), "http://c") == "http://b"
    monkeypatch.delenv("SLIPWAY_URL")
    assert design_base_url(ConnectionSettings(), "http://c/x/") == "http://c/x"
