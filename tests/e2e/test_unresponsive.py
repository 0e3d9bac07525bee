"""An owner that stops: the tree says unresponsive within the owner's interval, and is back by itself (rule 30)."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slipway_cli.embedded.processes import members
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

ONE = site([node("a")], [group("one", percent_successful_nodes=100)])
# What Airflow tells of the time of its answers has whole seconds.
BLUR = timedelta(seconds=1)


@dataclass
class Watched:
    """An action whose only node hangs at the provisioner, and the owner that is going to stop."""

    slipway: RunningSlipway
    run_id: str
    action_id: str
    owner: str

    def tree(self) -> dict[str, Any]:
        """Read the tree, and check that what it says of the owner is what it says of the node."""
        tree = self.slipway.slipway.action_tree(self.action_id, depth="5")
        assert tree is not None
        seen = self._seen(tree)
        if seen is not None:
            due = datetime.fromisoformat(seen["last_seen"]) + timedelta(seconds=seen["interval"])
            assert seen["alive"] == (datetime.fromisoformat(tree["read_at"]) <= due)
        return tree

    def root(self) -> str:
        """Return the status of the action."""
        return str(self.tree()["root"]["status"])

    def is_unresponsive(self) -> bool:
        """Whether root, group and node say so; all at once, or none of them."""
        root = self.tree()["root"]
        stage = next(child for child in root["children"] if child["name"] == "deploy_group")
        (one,) = stage["children"]
        deploy = next(child for child in one["children"] if child["name"] == "deploy")
        (leaf,) = deploy["children"]
        statuses = {entry["status"] for entry in (root, stage, one, deploy, leaf)}
        assert statuses in ({"unresponsive"}, {"processing"}), statuses
        return statuses == {"unresponsive"}

    def check_that_it_was_seen_before(self, stopped: datetime) -> None:
        """Check that nothing that came after its end counts as a sign of life: the interval begins with the last."""
        seen = self._seen(self.tree())
        assert seen is not None
        assert (seen["name"], seen["alive"]) == (self.owner, False)
        assert datetime.fromisoformat(seen["last_seen"]) <= stopped + BLUR
        answer = self.slipway.airflow.session.request("listing the owners", "GET", "/slipway/api/v1.0/owners")
        (listed,) = [one for one in answer.json()["owners"] if one["name"] == self.owner]
        assert (listed["status"], self.action_id in listed["actions"]) == ("unresponsive", True)

    def finish(self, simulator: Simulator) -> None:
        """Wait until it is back, let the node go on, and check how the run ends."""
        wait_until(lambda: self.root() == "processing", f"{self.owner} is back")
        simulator.release_stuck()
        assert self.slipway.airflow.wait_for_run(DAG, self.run_id, HANGS) == "success"
        assert self.slipway.report(self.run_id)["verdict"] == "success"
        assert self.root() == "success"

    def _seen(self, tree: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the node's entry, or its group's, says of the owner."""
        entries, owners = [tree["root"]], []
        while entries:
            entry = entries.pop()
            owners += [owner for owner in entry.get("owners", ()) if owner["name"] == self.owner]
            entries += entry.get("children", ())
        found = {owner["last_seen"]: owner for owner in owners if owner["last_seen"] is not None}
        assert len(found) <= 1, "one reading, one truth"
        return next(iter(found.values()), None)


def watched(own: OwnSite, owner: str, **connection: Any) -> Watched:
    """Start a deployment of one node that hangs in its deploy, and wait until it does."""
    own.simulator.script("a", "deploy", "stuck")
    own.connect(**connection)
    run_id = own.start(ONE)
    wait_until(lambda: ("deploy_nodes", ["a"]) in own.simulator.submissions(), "the node is being deployed")
    started = Watched(own.slipway, run_id, own.slipway.action(run_id).id, owner)
    wait_until(lambda: started.root() == "processing" and not started.is_unresponsive(), "the tree says so")
    return started


def now(slipway: RunningSlipway) -> datetime:
    """Return the time by the clock that owners check in by."""
    with slipway.open_store() as store:
        return store.now()


def test_rule_30_a_provisioner_that_stops_is_unresponsive_and_comes_back_by_itself(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    simulator = own.simulator
    action = watched(own, f"provisioner:slipway_provisioner_{own.name}", check_in_interval=15)
    simulator.kill()
    stopped = now(slipway)
    wait_until(action.is_unresponsive, "the tree says that the provisioner is unresponsive")
    action.check_that_it_was_seen_before(stopped)
    simulator.start("--restart-mode", "resume")
    action.finish(simulator)


def test_rule_30_a_triggerer_that_stops_is_unresponsive_and_its_successor_is_there_by_itself(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    """It hangs first: one that was killed has a successor long before anybody would miss it."""
    action = watched(own, f"airflow:{DAG}", poll_in_worker=3)
    slipway.wait_for_task(action.run_id, "deploy_group", "deferred", "one")
    for process in members([slipway.runtime.components["triggerer"]]):
        os.kill(process, signal.SIGSTOP)
    stopped = now(slipway)
    wait_until(action.is_unresponsive, "the tree says that Airflow is unresponsive")
    action.check_that_it_was_seen_before(stopped)
    slipway.kill_component("triggerer")
    action.finish(own.simulator)
