"""The example site on a real Ironic, with a real Airflow: failures in Ironic's own words, and nothing done twice.

Ironic's own history is the judge of what was done how often.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from slipway_cli.main import main
from tests.conftest import ROOT
from tests.e2e.on_ironic import connect
from tests.e2e.running import DAG, HANGS, RunningSlipway, wait_until
from tests.support.embedded_ironic import EmbeddedIronic, running_ironic
from tests.support.ironic_sites import IMAGE, IronicTestSite

SITE = "example-ironic"
EXAMPLE = ROOT / "slipway_cli" / "data" / "example_ironic_site.yaml"
NOT_DEPLOYED, NOT_CLEANED = "r1-compute-07", "r2-compute-03"
SPEED = 100.0
"""A deployment takes 6 s: long enough to be killed in."""


@pytest.fixture(scope="module")
def ironic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIronic]:
    with running_ironic(tmp_path_factory.mktemp("ironic")) as running:
        yield running


@pytest.fixture(scope="module")
def machines(ironic: EmbeddedIronic) -> IronicTestSite:
    """The site's machines: one cannot be deployed, one cannot be cleaned."""
    ironic.play(
        {"node": NOT_DEPLOYED, "phase": "deploy", "behaviour": "fail", "message": "no disk of that serial"},
        {"node": NOT_CLEANED, "phase": "prepare", "behaviour": "fail", "message": "a disk is worn"},
        speed=SPEED,
    )
    return IronicTestSite(ironic, SITE)


def states(machines: IronicTestSite) -> Counter[str]:
    """Return how many machines have which state."""
    listed = machines.call("GET", f"nodes?resource_class={SITE}&fields=name,provision_state").json()["nodes"]
    return Counter(str(node["provision_state"]) for node in listed)


def test_rule_12_forty_nodes_on_a_real_ironic_survive_three_kills(
    slipway: RunningSlipway, ironic: EmbeddedIronic, machines: IronicTestSite
) -> None:
    began = time.monotonic()
    connect(slipway, ironic, SITE)
    revision = slipway.slipway.commit(SITE, EXAMPLE.read_text())
    slipway.airflow.wait_for_dag(DAG)
    run_id = slipway.airflow.trigger(DAG, {"site": SITE, "revision": revision.number})
    wait_until(lambda: states(machines)["cleaning"] > 0, "the first are prepared")
    slipway.kill_task(slipway.wait_for_task(run_id, "deploy_group", "running"))
    wait_until(lambda: states(machines)["deploying"] > 0, "the first are deployed")
    slipway.kill_component("triggerer")
    wait_until(lambda: states(machines)["active"] > 5, "some are active")
    slipway.kill_component("scheduler")
    slipway.wait_healthy()
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    report = slipway.report(run_id)
    nodes = {entry["name"]: entry for entry in report["nodes"]}
    assert {name for name, entry in nodes.items() if entry["state"] != "success"} == {NOT_DEPLOYED, NOT_CLEANED}
    assert "Deploy step deploy.deploy failed: no disk of that serial" in nodes[NOT_DEPLOYED]["message"]
    place = f"/slipway/ui/actions/{slipway.action(run_id).id}"
    page = unescape(slipway.airflow.session.request("reading the page", "GET", place).text)
    assert "deploy failed: Deploy step deploy.deploy failed: no disk of that serial" in page
    assert "a disk is worn" in nodes[NOT_CLEANED]["message"]
    for name in nodes:
        events = machines.events(name)
        assert events["deployment_start"] == (0 if name == NOT_CLEANED else 1), (name, events)
        assert events["automated_cleaning_start"] == 1, (name, events)
    print(f"40 nodes on Ironic with 3 kills: {time.monotonic() - began:.0f} s")


def test_an_update_deploys_what_has_failed_and_redeploys_what_has_changed_and_no_other(
    slipway: RunningSlipway, ironic: EmbeddedIronic, machines: IronicTestSite
) -> None:
    """A failed deployment is released first (rule 11); a failed cleaning is cleaned again; another image is rebuilt."""
    ironic.play(speed=SPEED)
    storage = "metadata: {name: storage}\ndata:\n"
    text = EXAMPLE.read_text().replace(storage, f"{storage}  image: https://images.example/plucky.qcow2\n")
    revision = slipway.slipway.commit(SITE, text)
    slipway.airflow.wait_for_dag("update_site")
    conf = {"site": SITE, "revision": revision.number, "allow_redeploy": True}
    run_id = slipway.airflow.trigger("update_site", conf)
    state = slipway.airflow.wait_for_run("update_site", run_id, HANGS)
    assert state == "success", slipway.report(run_id, "update_site")["text"]
    assert states(machines) == Counter(active=40)
    report = slipway.report(run_id, "update_site")
    assert {entry["state"] for entry in report["nodes"]} == {"success"}
    events = {entry["name"]: machines.events(entry["name"]) for entry in report["nodes"]}
    rebuilt = {f"r4-compute-{number:02}" for number in range(1, 7)}
    assert {name for name, one in events.items() if one["deployment_start"] == 2} == {NOT_DEPLOYED, *rebuilt}
    assert {name for name, one in events.items() if one["automated_cleaning_start"] == 2} == {NOT_DEPLOYED, NOT_CLEANED}


def test_what_was_imported_is_deployed(slipway: RunningSlipway, ironic: EmbeddedIronic, tmp_path: Path) -> None:
    """Nodes that somebody else has enrolled: from their documents, as `slipway import` writes them, to a deployment."""
    ironic.play(speed=2000)
    nodes = IronicTestSite(ironic, "walk")
    names = [f"walk-{number}" for number in range(3)]
    nodes.make_available(names)
    info = {"image_source": IMAGE, "image_os_hash_algo": "sha256", "image_os_hash_value": "0" * 64}
    for name in names:
        assert nodes.patch(name, instance_info=info, extra={"rack": "rack01"}).ok
    connect(slipway, ironic, "walk")
    session = slipway.airflow.session
    environ = {"SLIPWAY_URL": session.url, "SLIPWAY_TOKEN": session.token(), "SLIPWAY_SITE": "walk"}
    words = ["import", "ironic", "--connection", "slipway_provisioner_walk", "--directory", str(tmp_path / "walk")]
    done = CliRunner().invoke(main, words, env=environ)
    assert done.exit_code == 0, done.output
    files = sorted((tmp_path / "walk").iterdir())
    checked = CliRunner().invoke(main, ["validate", *map(str, files)], env=environ)
    assert checked.exit_code == 0, checked.output
    revision = slipway.slipway.commit("walk", "".join(file.read_text() for file in files))
    slipway.airflow.wait_for_dag(DAG)
    run_id = slipway.airflow.trigger(DAG, {"site": "walk", "revision": revision.number})
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    assert {nodes.node(name)["provision_state"] for name in names} == {"active"}
    assert {nodes.events(name)["deployment_start"] for name in names} == {1}
