"""From an Airflow connection to a Drydock client."""

from __future__ import annotations

from typing import Any, cast

import pytest

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.redacting import RedactingProvisioner
from site_engine.errors import SettingsError
from tests.support.hooks import hook


@pytest.mark.parametrize(
    ("host", "more", "url"),
    [
        ("http://drydock:9000", {}, "http://drydock:9000"),
        ("drydock", {"port": 9000}, "http://drydock:9000"),
        ("drydock", {"schema": "https", "port": 443}, "https://drydock:443"),
        ("https://gate/drydock/", {}, "https://gate/drydock"),
    ],
)
def test_the_address_may_be_written_as_people_write_it(host: str, more: dict[str, Any], url: str) -> None:
    client = hook(host, **more).get_conn()
    assert isinstance(client, RedactingProvisioner)
    assert isinstance(client.provisioner, DrydockProvisioner)
    assert client.provisioner.url == url
    client.close()


@pytest.mark.parametrize("kind", ["drydock", "http", "https", "generic", "", None, "ssh"])
def test_a_connection_of_a_type_without_a_provisioner_leads_to_a_drydock_a_foreign_one_with_a_warning(
    kind: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    client = hook(conn_type=kind).get_conn()
    assert isinstance(client, RedactingProvisioner)
    assert isinstance(client.provisioner, DrydockProvisioner)
    client.close()
    warning = (
        "The Airflow connection 'slipway_provisioner' is of the type 'ssh', which no provisioner has: it is used as "
        "'drydock'. Choose one of drydock, generic, http, https, ironic, maas."
    )
    assert caplog.messages == ([warning] if kind == "ssh" else [])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": None}, "no Drydock URL"),
        ({"host": "ftp://drydock"}, "slipway_provisioner"),
        ({"extra": {"read_timeout": "long"}}, "read_timeout"),
        (
            {"extra": {"auth_token": "t0ken", "auth_url": "http://keystone/v3"}, "login": "u", "password": "p"},
            "not both",
        ),
    ],
)
def test_a_connection_that_cannot_be_used_says_why_and_no_secret(given: dict[str, Any], said: str) -> None:
    made = hook(**given)
    with pytest.raises(SettingsError, match=said) as refused:
        made.get_conn()
    assert "t0ken" not in str(refused.value)
    ok, message = made.test_connection()
    assert not ok
    assert said in message


@pytest.mark.parametrize(
    "extra", [{"poll_interval": "often"}, {"poll_in_worker": -1}, {"queue_timeout": "x"}, {"design_base_url": 7}]
)
def test_the_forms_test_looks_at_the_fields_of_slipways_own_tasks_too(extra: dict[str, Any]) -> None:
    ok, message = hook(extra=extra).test_connection()
    assert not ok
    assert next(iter(extra)) in message


def test_the_provisioners_log_has_the_marker() -> None:
    client = hook().get_conn(context_marker="action-17")
    marked = hook().get_conn(context_marker="action-18")
    assert isinstance(client, RedactingProvisioner)
    assert isinstance(marked, RedactingProvisioner)
    seen = {cast(DrydockProvisioner, one.provisioner).context_marker for one in (client, marked)}
    assert len(seen) == 2
    client.close()
    marked.close()


def test_keystone_credentials_come_from_login_and_password() -> None:
    client = hook(extra={"auth_url": "http://keystone/v3", "project_name": "ucp"}, login="slipway", password="s3cret")
    made = client.get_conn()
    assert "s3cret" not in repr(made)
    assert "keystone" in repr(made).lower()
    made.close()
