"""A wiped node that serves an older revision is repaired for it: from the controller's look to the machine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from site_engine.controller.repairs import Remedies, repair_site
from site_store import SiteStore
from site_store.records import Lease
from tests.integration.api.airflow_runs import AirflowRuns
from tests.integration.api.conftest import PASSWORD
from tests.integration.api.views.scene import GROUPS, SITE, Scene
from tests.support.simulators import Simulator


@pytest.mark.usefixtures("dags")
def test_rule_56_a_wiped_machine_is_deployed_anew_with_the_design_of_the_revision_that_it_was_done_for(
    admin: httpx.Client,
    airflow_runs: AirflowRuns,
    store: SiteStore,
    connected: Simulator,
    tmp_path: Path,
    origin: str,
) -> None:
    scene = Scene(store, connected, admin, airflow_runs, tmp_path)
    scene.commit(repair="on")
    scene.run("deploy_site")
    scene.commit(other=GROUPS["compute"], repair="on")
    connected.post("nodes/n4", {"status": "Ready", "power_state": "off"})
    scene.look(2)
    assert shown(admin, "n4")["status"] == "error"
    with contextlib.closing(ApiSession(origin, "admin", PASSWORD)) as session:
        slipway = SlipwayClient(session)

        def start(site: str, run_id: str, nodes: Sequence[str], *, redeploy: bool, revision: int, held: Lease) -> str:
            return slipway.repair(site, run_id, nodes, held, redeploy=redeploy, revision=revision)

        remedies = Remedies(start)
        repair_site(store, SITE, remedies, lambda: scene.lease)
        (begun,) = store.repairs.under_way(SITE)
        assert begun.action_id is not None
        scene.carry_out(begun.action_id)
        repair_site(store, SITE, remedies, lambda: scene.lease)
    scene.look(2)
    action = admin.get(f"/api/v1.0/actions/{begun.action_id}").json()
    assert (action["revision"], action["state"]) == (1, "success")
    assert scene.deployed_for("n4") == 1
    assert scene.machines()["n4"] == (True, True)
    found = shown(admin, "n4")
    assert (found["status"], found["message"]) == ("pending", "done for revision 1, wanted is revision 2")
    (group,) = store.groups.of_action(begun.action_id)
    assert (group.name, group.nodes) == ("compute", ("n3", "n4")), "n3 serves the same revision, and counts"
    scene.run("update_site", allow_redeploy=True)
    assert scene.deployed_for("n4") == 2
    assert shown(admin, "n4")["status"] == "success"


def shown(client: httpx.Client, name: str) -> dict[str, str]:
    """Return what the table of nodes says of a node."""
    nodes = client.get(f"/api/v1.0/sites/{SITE}/nodes").json()["nodes"]
    (found,) = [one for one in nodes if one["node"] == name]
    return dict(found)
