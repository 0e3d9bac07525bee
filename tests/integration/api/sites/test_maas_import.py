"""`GET /imports/maas` and `slipway import maas`: a simulated MAAS through an Airflow connection becomes documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from design_rendering.design import read_design
from design_rendering.kinds.slipway_nodes import read_slipway_nodes
from design_rendering.reading.documents import load_documents
from design_rendering.rendering import rendered_documents
from slipway_cli.main import main
from tests.conftest import ROOT
from tests.support.configdocs import API, assert_failure, commit, put
from tests.support.designs import validate
from tests.support.maas_calls import MaasCaller, over_http
from tests.support.simulators import MaasSimulator, Simulator

IMPORT = f"{API}/imports/maas"
EXAMPLE = ROOT / "slipway_cli" / "data" / "example_maas_site.yaml"
FILES = ["site.yaml", "nodes.yaml", "strategy.yaml"]


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaasSimulator]:
    """Start a MAAS with the machines of the example site, for all tests that use it."""
    started = MaasSimulator(tmp_path_factory.mktemp("maas"), "--site", str(EXAMPLE))
    yield started
    started.stop()


@pytest.fixture
def maas(monkeypatch: pytest.MonkeyPatch, simulator: MaasSimulator) -> MaasSimulator:
    """Connect the server to it, as the connection of the site fra1."""
    connection = {
        "conn_type": "maas",
        "host": f"{simulator.url}/MAAS",
        "password": simulator.key,
        "extra": {"pool": "default"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER_FRA1", json.dumps(connection))
    return simulator


def run(slipway: CliRunner, *arguments: str) -> Result:
    return slipway.invoke(main, ["import", "maas", "--connection", "slipway_provisioner_fra1", *arguments])


def test_the_example_site_comes_back_from_its_machines(maas: MaasSimulator, user: httpx.Client) -> None:
    answer = user.get(IMPORT, params={"connection": "slipway_provisioner_fra1"})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["connection"], body["machines"], body["left_out"]) == ("slipway_provisioner_fra1", 40, [])
    assert [one["name"] for one in body["files"]] == FILES
    text = "".join(one["text"] for one in body["files"])
    assert "metadata: {name: fra1}" in text
    documents = rendered_documents(load_documents(text))
    wanted = read_design(rendered_documents(load_documents(EXAMPLE.read_bytes())))
    imported = read_slipway_nodes(documents)
    assert {(node.name, node.rack, node.tags) for node in imported.values()} == {
        (node.name, node.rack, node.tags) for node in wanted.nodes
    }
    assert imported["ntp01"].labels == next(node.labels for node in wanted.nodes if node.name == "ntp01")
    assert [str(problem) for problem in validate(load_documents(text))] == []
    assert user.get(IMPORT, params={"connection": "slipway_provisioner_fra1"}).json() == body
    assert maas.key.split(":")[2] not in text or maas.key not in text


def test_what_maas_says_with_a_part_of_its_key_in_it_is_not_shown(maas: MaasSimulator, user: httpx.Client) -> None:
    part = maas.key.split(":")[0]
    caller = MaasCaller(over_http(maas.url))
    caller.post("tags/", name=f"of-{part}")
    caller.post(f"tags/of-{part}/", "update_nodes", add=caller.machine("ntp01")["system_id"])
    try:
        answer = user.get(IMPORT, params={"connection": "slipway_provisioner_fra1"})
    finally:
        caller.call("DELETE", f"tags/of-{part}/")
    assert answer.status_code == 200
    assert "of-***" in answer.text
    assert part not in answer.text


def test_what_was_imported_can_be_committed(maas: MaasSimulator, user: httpx.Client) -> None:
    body = user.get(IMPORT, params={"connection": "slipway_provisioner_fra1"}).json()
    text = "".join(one["text"] for one in body["files"])
    put(user, text, site="fra1")
    answer = commit(user, site="fra1")
    assert answer.status_code == 200, answer.text
    put(user, "schema: drydock/BaremetalNode/v1\nmetadata: {name: d1}\ndata: {}\n", "drydock", site="fra1")
    refused = commit(user, site="fra1")
    assert_failure(refused, 400)
    assert "drydock/BaremetalNode/v1 is for Drydock, and the site's provisioner is MAAS" in refused.text


def test_files_are_written_and_not_written_over(maas: MaasSimulator, slipway: CliRunner, tmp_path: Path) -> None:
    result = run(slipway, "--directory", "fra1")
    assert result.exit_code == 0, result.output
    assert "40 machines written to fra1/site.yaml, fra1/nodes.yaml, fra1/strategy.yaml" in result.output
    texts = {name: (tmp_path / "fra1" / name).read_text() for name in FILES}
    assert sorted(path.name for path in (tmp_path / "fra1").iterdir()) == sorted(FILES)
    (tmp_path / "fra1" / "nodes.yaml").write_text("mine\n")
    refused = run(slipway, "--directory", "fra1")
    assert refused.exit_code == 1
    assert "are there already: give --force to write over" in refused.output
    assert (tmp_path / "fra1" / "nodes.yaml").read_text() == "mine\n"
    for edited in ("mine\n", "mine, too\n", None):
        if edited is not None:
            (tmp_path / "fra1" / "nodes.yaml").write_text(edited)
        forced = run(slipway, "--directory", "fra1", "--force")
        assert forced.exit_code == 0, forced.output
        assert ("what was there is kept in fra1/nodes.yaml." in forced.output) is (edited is not None)
        assert {name: (tmp_path / "fra1" / name).read_text() for name in FILES} == texts
    kept = {path.name: path.read_text() for path in (tmp_path / "fra1").iterdir() if path.name not in FILES}
    assert kept == {"nodes.yaml.1": "mine\n", "nodes.yaml.2": "mine, too\n"}, "nothing that was edited is lost"


@pytest.mark.usefixtures("maas")
def test_only_connections_to_maas_are_asked_and_only_for_who_may_commit(
    connected: Simulator, user: httpx.Client, viewer: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_failure(viewer.get(IMPORT, params={"connection": "slipway_provisioner_fra1"}), 403)
    assert_failure(user.get(IMPORT, params={"connection": "slipway_provisioner_gone"}), 404)
    of_drydock = user.get(IMPORT)
    assert_failure(of_drydock, 404)
    assert "is of the type 'drydock', and leads to no MAAS" in of_drydock.text
    other = user.get(IMPORT, params={"connection": "aws_default"})
    assert_failure(other, 400)
    assert "is no connection of a provisioner" in other.text
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER_BAD", json.dumps({"conn_type": "maas", "host": "x"}))
    bad = user.get(IMPORT, params={"connection": "slipway_provisioner_bad"})
    assert_failure(bad, 503)
    assert "no API key" in bad.text


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"password": "a:b:c"}, "The provisioner does not accept the credentials"),
        ({"password": "a:b"}, "the API key must have three parts, consumer:token:secret, as MAAS shows it"),
        ({"extra": {}}, "a pool or a tag must limit the site's part of MAAS: give one of them"),
        ({"extra": {"pool": "nowhere"}}, "MAAS has no pool nowhere: correct what limits the site in the connection"),
        ({"extra": {"tag": "nobody"}}, "MAAS has no tag nobody: correct what limits the site in the connection"),
        ({"extra": {"pool": "empty"}}, "MAAS has no machine in pool empty"),
        ({"host": "{url}"}, "its URL ends with /MAAS, as in http://maas:5240/MAAS"),
        ({"host": "https://{server}/MAAS"}, "what listens there does not speak TLS: is it http:// and not https://"),
    ],
)
def test_what_is_wrong_with_a_connection_is_said(
    maas: MaasSimulator, slipway: CliRunner, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], expected: str
) -> None:
    for pool in ("empty", "default"):
        maas.post("nodes/ntp01", {"pool": pool})
    connection = {
        "conn_type": "maas",
        "host": f"{maas.url}/MAAS",
        "password": maas.key,
        "extra": {"pool": "default"},
        **changes,
    }
    server = maas.url.removeprefix("http://")
    connection["host"] = connection["host"].format(url=maas.url, server=server)
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER_FRA1", json.dumps(connection))
    result = run(slipway)
    assert result.exit_code == 1, result.output
    assert expected in " ".join(result.output.split())
    assert maas.key not in result.output
