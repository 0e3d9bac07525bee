"""`slipway import ironic`: nodes of a real Ironic become documents, and these are committed, checked and deployed."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from provisioner_client.designs import DesignSource
from slipway_cli.main import main
from strategy_lib.phase import Phase
from tests.support.configdocs import API, assert_failure, commit, put
from tests.support.embedded_ironic import EmbeddedIronic, running_ironic
from tests.support.ironic_sites import IronicTestSite, finish

pytestmark = [pytest.mark.endurance, pytest.mark.timeout(300)]

PASSWORD = "bmc-secret-4711"
SHA = "b" * 64
INFO = {
    "image_source": "https://images.invalid/noble.qcow2",
    "image_os_hash_algo": "sha256",
    "image_os_hash_value": SHA,
    "root_device": {"name": "/dev/sda"},
}
BMC = {"redfish_address": "https://10.0.9.7", "redfish_username": "operator", "redfish_password": PASSWORD}


@pytest.fixture(scope="module")
def ironic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIronic]:
    with running_ironic(tmp_path_factory.mktemp("ironic")) as running:
        yield running


@pytest.fixture
def nodes(ironic: EmbeddedIronic, monkeypatch: pytest.MonkeyPatch) -> IronicTestSite:
    """Three nodes, of which one is somebody else's, and the server's connection to them as the site fra1."""
    site = IronicTestSite(ironic)
    site.make_available([f"{site.name}-{letter}" for letter in "abc"])
    for letter in "ab":
        name = f"{site.name}-{letter}"
        assert site.patch(name, instance_info=INFO, driver_info=BMC, extra={"rack": f"rack-{letter}"}).ok
        assert site.call("PUT", f"nodes/{name}/traits", {"traits": ["CUSTOM_GPU"]}).status_code == 204
        port = {"node_uuid": site.node(name)["uuid"], "address": f"52:54:00:{secrets.token_bytes(3).hex(':')}"}
        assert site.call("POST", "ports", port).status_code == 201
    assert site.patch(f"{site.name}-c", instance_uuid=str(uuid.uuid4())).ok
    connection = {
        "conn_type": "ironic",
        "host": ironic.url,
        "login": "slipway",
        "password": ironic.password,
        "extra": {"resource_class": site.name},
    }
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER_FRA1", json.dumps(connection))
    return site


def run(slipway: CliRunner, *arguments: str) -> Result:
    return slipway.invoke(main, ["import", *arguments, "--connection", "slipway_provisioner_fra1"])


def test_what_was_imported_is_committed_checked_and_deployed_and_comes_back_the_same(
    nodes: IronicTestSite, slipway: CliRunner, user: httpx.Client, tmp_path: Path
) -> None:
    result = run(slipway, "ironic", "--directory", "fra1")
    assert result.exit_code == 0, result.output
    assert "2 machines written to fra1/site.yaml, fra1/nodes.yaml, fra1/strategy.yaml" in result.output
    stranger = nodes.node(f"{nodes.name}-c")["instance_uuid"]
    assert f"left out: {nodes.name}-c: instance {stranger} has it" in " ".join(result.output.split())
    texts = {path.name: path.read_text() for path in (tmp_path / "fra1").iterdir()}
    text = "".join(texts.values())
    assert PASSWORD not in text
    # That type of hardware has no BMC of its own: what its nodes are told of one is an option, and no secret is.
    assert (
        texts["nodes.yaml"].count("bmc_options: {redfish_address: 'https://10.0.9.7', redfish_username: operator}") == 2
    )
    assert texts["nodes.yaml"].count("# left out, as it looks like a secret: redfish_password\n") == 2
    assert "traits" not in text, "nobody has asked for one yet"
    assert "tags: [CUSTOM_GPU]" in texts["site.yaml"]
    assert texts["nodes.yaml"].count("mac_addresses") == 2

    checked = slipway.invoke(main, ["validate", *(f"fra1/{name}" for name in texts)])
    assert checked.exit_code == 0, checked.output
    put(user, text, site="fra1")
    committed = commit(user, site="fra1")
    assert committed.status_code == 200, committed.text

    # The strategy and the configuration are the engine's: the provisioner gets the whole design.
    names = [f"{nodes.name}-a", f"{nodes.name}-b"]
    client, source = nodes.client(), DesignSource(f"nowhere:{nodes.name}", lambda: text)
    found = client.validate_design(source)
    assert (found.valid, found.messages) == (True, ())
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        reference = f"slipway-a-{phase.value}-{nodes.name}"
        client.submit(phase, source, names, reference)
        assert finish(client, reference, source).successes == set(names)
    for name in names:
        now = nodes.node(name)
        assert now["provision_state"] == "active"
        assert INFO.items() <= now["instance_info"].items()
        assert nodes.events(name)["deployment_start"] == 1

    again = run(slipway, "ironic", "--directory", "again")
    assert again.exit_code == 0, again.output
    assert {path.name: path.read_text() for path in (tmp_path / "again").iterdir()} == texts


def test_a_connection_to_another_provisioner_is_named(
    nodes: IronicTestSite, slipway: CliRunner, user: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = user.get(f"{API}/imports/maas", params={"connection": "slipway_provisioner_fra1"})
    assert_failure(wrong, 404)
    assert "is of the type 'ironic', and leads to no MAAS" in wrong.text
    assert_failure(user.get(f"{API}/imports/drydock"), 400)
    connection = {"conn_type": "ironic", "host": nodes.ironic.url, "login": "slipway", "password": "guessed"}
    for extra, said in (
        ({}, "something must limit the site's part of Ironic"),
        ({"resource_class": nodes.name}, "correct user and password, or the token, of the connection"),
    ):
        monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER_FRA1", json.dumps({**connection, "extra": extra}))
        result = run(slipway, "ironic")
        assert result.exit_code == 1
        assert said in " ".join(result.output.split())
    monkeypatch.setenv(
        "AIRFLOW_CONN_SLIPWAY_PROVISIONER_FRA1",
        json.dumps({**connection, "password": nodes.ironic.password, "extra": {"resource_class": "nothing"}}),
    )
    assert "Ironic has no machine in resource class nothing" in " ".join(run(slipway, "ironic").output.split())
