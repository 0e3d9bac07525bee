"""The API server reaches itself by the internal address, and all reach it by TLS with one's own authority."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from site_store import SiteStore
from tests.integration.api.airflow_runs import AirflowRuns, ask, commit, create
from tests.integration.api.conftest import PASSWORD
from tests.support.certificates import Certificates, make_certificates
from tests.support.processes import tied, wait_until
from tests.support.serving import serving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site
from tests.support.stores import check_results

if TYPE_CHECKING:
    from fastapi import FastAPI

PUBLIC = "https://127.0.0.1:9/airflow"
"""Nobody is there."""
UNTRUSTED = "is not trusted here ([SSL: CERTIFICATE_VERIFY_FAILED]"

pytestmark = pytest.mark.usefixtures("dags", "connected")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def encrypted(airflow_app: FastAPI, certificates: Certificates) -> Iterator[str]:
    """Serve Airflow's application by TLS too, and return its URL."""
    with serving(airflow_app, lifespan="off", certificate=certificates.server) as url:
        yield url


def test_the_api_server_asks_itself_at_the_internal_address_and_tells_clients_the_public_one(
    user: httpx.Client, origin: str, store: SiteStore, airflow_runs: AirflowRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", PUBLIC)
    answer = ask(user)
    assert answer.status_code == 503, "the public one is asked where no other is named"
    monkeypatch.setenv("SLIPWAY_URL", origin)
    action = create(user)["id"]
    assert airflow_runs.state("deploy_site", action) == "queued"
    answer = user.post("/v3/auth/tokens", json=_keystone("user"))
    assert answer.status_code == 201, "the login of the Keystone face asks Airflow's, by the same address"
    (endpoint, *_) = answer.json()["token"]["catalog"][0]["endpoints"]
    assert endpoint["url"].startswith(PUBLIC)


def test_the_api_server_asks_itself_by_tls_with_ones_own_authority(
    user: httpx.Client, encrypted: str, certificates: Certificates, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store)
    monkeypatch.setenv("SLIPWAY_URL", encrypted)
    answer = user.get("/api/v1.0/workflows")
    assert answer.status_code == 503
    assert UNTRUSTED in answer.json()["message"]
    assert "name its file in REQUESTS_CA_BUNDLE" in answer.json()["message"]
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/authority.pem")
    answer = user.get("/api/v1.0/workflows")
    assert answer.status_code == 503
    assert "REQUESTS_CA_BUNDLE names no file with certificates" in answer.json()["message"]
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.authority))
    assert user.get("/api/v1.0/workflows").status_code == 200


def test_the_command_line_trusts_ones_own_authority_and_says_what_it_does_not_trust(
    encrypted: str, certificates: Certificates, tokens: dict[str, str], store: SiteStore, tmp_path: Path
) -> None:
    commit(store)
    named = {"SLIPWAY_URL": encrypted, "SLIPWAY_TOKEN": tokens["viewer"], "XDG_CONFIG_HOME": str(tmp_path)}

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "slipway_cli", "get", "sites"]
        return subprocess.run(
            command, env=os.environ | named | more, capture_output=True, text=True, timeout=60, check=False
        )

    refused = run()
    assert (refused.returncode, refused.stdout) == (1, "")
    assert UNTRUSTED in refused.stderr
    assert "Traceback" not in refused.stderr
    wrong = run(REQUESTS_CA_BUNDLE="/nowhere/authority.pem")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "REQUESTS_CA_BUNDLE" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    good = run(REQUESTS_CA_BUNDLE=str(certificates.authority))
    assert good.returncode == 0, good.stderr
    assert "default" in good.stdout


@pytest.mark.endurance
def test_the_controller_reaches_the_api_by_tls(
    encrypted: str, certificates: Certificates, store: SiteStore, store_url: str
) -> None:
    commit(store)
    own = {
        "SLIPWAY_DATABASE_URL": store_url,
        "SLIPWAY_SERVICE_USER": "admin",
        "SLIPWAY_SERVICE_PASSWORD": PASSWORD,
        "SLIPWAY_URL": encrypted,
    }
    subject = "airflow: api-server"
    for trusted in ({}, {"REQUESTS_CA_BUNDLE": str(certificates.authority)}):
        process = subprocess.Popen(
            tied(sys.executable, "-m", "slipway_cli", "controller"),
            env=os.environ | own | trusted,
            stdin=subprocess.DEVNULL,
        )
        try:
            if trusted:
                wait_until(lambda: check_results(store)[subject] is None, "it finds the API server well")
            else:
                wait_until(lambda: UNTRUSTED in (check_results(store).get(subject) or ""), "it says what is wrong")
        finally:
            process.terminate()
            process.wait(60)


def test_a_provisioner_fetches_the_design_by_tls(
    user: httpx.Client,
    encrypted: str,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLIPWAY_URL", encrypted)
    design = site([node("n1")], [group("all", ["n1"])])
    put = user.post("/api/v1.0/configdocs/design", content=design, params={"buffermode": "replace"})
    assert put.status_code == 201, put.text
    refused = user.post("/api/v1.0/commitconfigdocs")
    assert refused.status_code == 400, refused.text
    assert f"Drydock could not read the design at {encrypted}" in refused.text
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.authority))
    simulator = Simulator(tmp_path)
    try:
        connection = {"conn_type": "drydock", "host": simulator.url}
        monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
        answer = user.post("/api/v1.0/commitconfigdocs")
        assert answer.status_code == 200, answer.text
        assert simulator.get("state")["designs"], "it has read the design"
    finally:
        simulator.stop()


def _keystone(name: str) -> object:
    password = {"user": {"name": name, "password": PASSWORD, "domain": {"id": "default"}}}
    return {"auth": {"identity": {"methods": ["password"], "password": password}}}
