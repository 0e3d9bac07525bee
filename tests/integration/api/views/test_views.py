"""All views of one site agree with each other and with its machines, whatever happens: a new view or event is a row."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest

from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from site_engine.controller.repairs import Remedies, repair_site
from site_store import SiteStore
from site_store.records import Lease
from site_store.restoring import Restoring
from tests.integration.api.airflow_runs import AirflowRuns
from tests.integration.api.conftest import PASSWORD
from tests.integration.api.views.comparison import contradictions
from tests.integration.api.views.scene import GROUPS, OTHER, SITE, Scene
from tests.support.simulators import Simulator

Step = Callable[[Scene], object]


def fails_first(scene: Scene) -> None:
    scene.simulator.script("n2", "deploy", "fail", attempt=1)
    scene.run("deploy_site")


def adopts_all(scene: Scene) -> None:
    scene.is_restored = False
    for name in (SITE, OTHER):
        scene.client.post(f"/api/v1.0/sites/{name}/adopt", json={}).raise_for_status()


def machine(name: str, **change: str) -> Step:
    """Have somebody change a machine."""

    def changes(scene: Scene) -> None:
        scene.ended = False
        scene.simulator.post(f"nodes/{name}", change)

    return changes


def asks(what: str, *nodes: str) -> Step:
    """Ask for nodes again, or adopt them."""
    path = f"/api/v1.0/sites/{SITE}/{what}"
    return lambda scene: scene.client.post(path, json={"nodes": list(nodes)} if nodes else {}).raise_for_status()


def restore(scene: Scene) -> None:
    scene.is_restored = True
    Restoring(scene.store._database).settle(doubt=True)


def nobody_looks(scene: Scene) -> None:
    scene.watched = False
    scene.passes(200)


def looked_at_again(scene: Scene) -> None:
    scene.watched = True
    scene.lead()


STEPS: tuple[tuple[str, Step], ...] = (
    ("commit", lambda scene: scene.commit()),
    ("a deploy in which a node fails", fails_first),
    ("deploy", lambda scene: scene.run("deploy_site")),
    ("powered off", machine("n3", power_state="off")),
    ("wiped", machine("n5", status="Ready", power_state="off")),
    ("commit of a newer revision", lambda scene: scene.commit(other=["n4"])),
    ("commit that changes the powered off one", lambda scene: scene.commit(other=["n3", "n4"])),
    ("rollback", lambda scene: scene.commit()),
    ("touch", asks("touch", "n1", "n3")),
    ("adopt", asks("adopt", "n1")),
    ("redeploy", lambda scene: scene.run("redeploy_server", target_nodes=["n3"])),
    ("repair", lambda scene: scene.run("repair_site", target_nodes=["n5"])),
    ("commit that changes one that serves", lambda scene: scene.commit(other=["n4"])),
    ("wiped while it serves an older revision", machine("n4", status="Ready", power_state="off")),
    ("repair for that revision", lambda scene: scene.run("repair_site", target_nodes=["n4"], revision=1)),
    ("commit with an approval", lambda scene: scene.commit(other=["n4"], approval="compute")),
    ("update that waits for a person", lambda scene: scene.run("update_site", allow_redeploy=True)),
    ("approval", lambda scene: scene.approve()),
    ("restore", restore),
    ("looked at after the restore", looked_at_again),
    ("adopt after the restore", adopts_all),
    ("provisioner and controller silent", nobody_looks),
)


@pytest.mark.usefixtures("dags")
def test_all_views_of_a_site_agree_whatever_happens(
    admin: httpx.Client,
    airflow_runs: AirflowRuns,
    store: SiteStore,
    connected: Simulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: str,
    tokens: dict[str, str],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SLIPWAY_URL", origin)
    monkeypatch.setenv("SLIPWAY_TOKEN", tokens["admin"])
    scene = Scene(store, connected, admin, airflow_runs, tmp_path)
    found: list[str] = []
    for name, step in STEPS:
        step(scene)
        if scene.watched and name != "restore":
            scene.look(2)
        found += [f"after {name}: {one}" for one in contradictions(scene)]
    assert not found, "\n".join(found)


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
