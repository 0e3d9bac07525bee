"""A site with all secrets of a real one deploys, and no log has any of them."""

from __future__ import annotations

import pytest

from tests.e2e.running import OwnSite, RunningSlipway
from tests.support.large_sites import SECRET_MARK, large_site, secret_documents, secret_of


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("own", [100_000], indirect=True)
@pytest.mark.parametrize(
    ("nodes", "secrets"),
    [
        pytest.param(200, 1000, marks=pytest.mark.endurance, id="1000"),
        pytest.param(2000, 10_000, marks=pytest.mark.soak, id="10000"),
    ],
)
def test_a_site_with_thousands_of_secrets_deploys_and_no_log_has_one(
    slipway: RunningSlipway, own: OwnSite, nodes: int, secrets: int
) -> None:
    own.simulator.script("node-00007", "deploy", "fail", message=f"IPMI refuses admin/{secret_of(471)} at 10.0.0.7")
    run_id, state = own.deploy(large_site(nodes) + secret_documents(secrets), timeout=900)
    assert state == "success"
    report = slipway.report(run_id)
    states = {node["name"]: node["state"] for node in report["nodes"]}
    assert (len(states), states.pop("node-00007"), set(states.values())) == (nodes, "failure", {"success"})
    assert "IPMI refuses admin/*** at 10.0.0.7" in str(report)
    assert SECRET_MARK not in str(report)
    logs = [path for path in (slipway.home / "logs").rglob("*") if path.is_file()]
    logs += [path for path in (slipway.home / "airflow" / "logs").rglob("*") if path.is_file()]
    said = {path: path.read_text(errors="replace") for path in logs}
    assert any("IPMI refuses admin/*** at 10.0.0.7" in text for text in said.values()), "it was said"
    assert [path for path, text in said.items() if SECRET_MARK in text] == []
