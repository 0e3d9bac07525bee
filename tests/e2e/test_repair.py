"""Between two actions: a node that dies or is wiped at night is seen, told, and repaired as the settings say."""

from __future__ import annotations

import re
import uuid
from functools import partial
from html import unescape
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from api_client.session import ApiRefused
from slipway_cli.main import main
from tests.e2e.running import OwnSite, RunningSlipway, wait_until
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

NAMES = ["dies", "wiped", "flaps", "broken"]
SETTINGS = {"repair": "on", "node_states": {"transition_time": 3}}
MOST_CRASHES = 4
"""So many are still fine, unless the settings say otherwise."""


class Nodes:
    """The nodes of the site, as its API tells of them and as its machines are."""

    def __init__(self, slipway: RunningSlipway, simulator: Simulator, name: str) -> None:
        self.slipway = slipway
        self.site = name
        self.simulator = simulator

    def ask(self, path: str, method: str = "GET", **more: Any) -> Any:
        """Ask the API of the site."""
        return self.slipway.slipway.request(f"asking for {path}", method, f"/sites/{self.site}{path}", **more).json()

    def standing(self, name: str) -> tuple[str, str]:
        """Return status and message of a node in the view of its site; for one that had to be fixed, what."""
        (one,) = [one for one in self.ask("/nodes")["nodes"] if one["node"] == name]
        return one["status"], one["fixed"] or one["message"]

    def state(self, name: str) -> str:
        """Return the state of a node that is published or about to be."""
        return str(self.ask(f"/nodes/{name}/state")["generated"]["state"])

    def wait_for_state(self, name: str, state: str) -> None:
        """Wait until a node has this state."""
        wait_until(lambda: self.state(name) == state, f"{name} is {state}")

    def set(self, name: str, state: str, condition: str = "safe") -> Any:
        """Set the user state of a node."""
        body = {"user": {"state": state, "reason": "new disk"}, "condition": condition, "wait": False}
        return self.ask(f"/nodes/{name}/state", "PUT", json=body)

    def power(self, name: str, power: str) -> None:
        """Switch a machine behind everybody's back."""
        self.simulator.post(f"nodes/{name}", {"power_state": power})

    def repairs(self) -> list[Any]:
        """Return the repairs that have begun."""
        return [one for one in self.slipway.slipway.actions(self.site) if one.kind == "repair_site"]

    def page(self) -> str:
        """Return what the page "Nodes" says, without its elements."""
        session = self.slipway.airflow.session
        text = session.request("reading the page", "GET", f"/slipway/ui/sites/{self.site}/states").text
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", text.partition("<main")[2])).split())

    def command(self, *words: str) -> str:
        """Return what the command line prints."""
        session = self.slipway.airflow.session
        environ = {"SLIPWAY_URL": session.url, "SLIPWAY_TOKEN": session.token(), "SLIPWAY_SITE": self.site}
        result = CliRunner().invoke(main, list(words), env=environ)
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    def deploys(self, name: str) -> int:
        """Return how often a node was submitted to be deployed."""
        return sum(phase == "deploy_nodes" and name in names for phase, names in self.simulator.submissions())


@pytest.fixture
def nodes(slipway: RunningSlipway, own: OwnSite) -> Nodes:
    """A deployed site, one for each test; one of its nodes was set to maintenance before."""
    text = site([node(name) for name in NAMES], [group("all", minimum_successful_nodes=1)], region=own.name)
    text += yaml.safe_dump(document("slipway/SiteSettings/v1", "site-settings", SETTINGS), explicit_start=True)
    slipway.slipway.commit(own.name, text)
    found = Nodes(slipway, own.simulator, own.name)
    assert found.set("broken", "maintenance", "force")["modified"] is True
    run_id, state = own.deploy(text)
    assert state == "success"
    (left,) = [one for one in slipway.report(run_id)["nodes"] if one["name"] == "broken"]
    assert left["state"] == "not_started", "what is in maintenance is left out (rule 51)"
    assert "maintenance" in left["message"], "and named"
    assert found.deploys("broken") == 0
    for each in NAMES[:3]:
        found.wait_for_state(each, "up")
    return found


def test_rules_56_and_57_between_actions_nodes_are_watched_and_repaired(nodes: Nodes) -> None:
    nodes.power("dies", "off")
    nodes.wait_for_state("dies", "maintenance")
    nodes.wait_for_state("dies", "down")
    # Published in between are, at most every 5 s, the states that it had then.
    wait_until(lambda: re.search(r"dies : (up|maintenance) → down", nodes.page()) is not None, "the page shows it")
    assert re.search(r"dies down\b.*\bnot back within the grace period", nodes.command("get", "site-state"))
    assert re.search(r"reported down .*generated down", nodes.command("get", "node-state", "dies"))
    wait_until(lambda: nodes.standing("dies")[0] == "error", "it leaves success")
    assert nodes.standing("dies")[1].startswith("drifted: power is off")
    tree = nodes.command("describe", f"site/{nodes.site}", "--depth", "2")
    assert re.search(r"\bdies\b.*drifted: power is off, since", tree)

    nodes.simulator.post("nodes/wiped", {"status": "Ready", "power_state": "off"})
    wait_until(lambda: nodes.repairs() != [], "the repair of what was wiped begins")
    wait_until(lambda: nodes.standing("wiped")[0] == "success", "it is repaired")
    assert nodes.standing("wiped")[1].startswith("drifted: the provisioner says Ready"), "it had to be fixed"
    wait_until(lambda: all(one.is_over for one in nodes.repairs()), "the repair is over")
    (repair,) = nodes.repairs()
    assert repair.state == "success"
    assert nodes.deploys("wiped") == 2
    assert nodes.deploys("dies") == 1, "what is deployed and off is left by `on`"
    assert nodes.standing("dies")[0] == "error"


def test_a_node_that_flaps_five_times_is_taken_down_until_a_person_sets_it_up(nodes: Nodes) -> None:
    for crashes in range(MOST_CRASHES + 1):
        nodes.wait_for_state("flaps", "up")
        found = nodes.ask("/nodes/flaps/state")
        assert (found["crashes"], found["user"]["state"]) == (crashes, "up"), "so many are still fine"
        nodes.power("flaps", "off")
        wait_until(partial(_is_down, nodes), "it is seen down")
        nodes.power("flaps", "on")
    wait_until(lambda: nodes.ask("/nodes/flaps/state")["user"]["state"] == "down", "the controller takes it down")
    assert nodes.state("flaps") == "down"
    assert "crashed 5 times" in nodes.ask("/nodes/flaps/state")["user"]["reason"]
    assert nodes.repairs() == [], "who is set down is not repaired (rule 51)"
    assert nodes.set("flaps", "up", "force")["modified"] is True
    nodes.wait_for_state("flaps", "up")


def _is_down(nodes: Nodes) -> bool:
    reported = nodes.ask("/nodes/flaps/state")["reported"]["state"]
    return bool(reported == "down")


def test_rule_51_a_redeploy_of_a_node_in_maintenance_is_refused(nodes: Nodes) -> None:
    with pytest.raises(ApiRefused, match="out of use") as refused:
        nodes.slipway.slipway.create_action(
            nodes.site, "redeploy_server", {"target_nodes": "broken"}, marker=str(uuid.uuid4())
        )
    assert refused.value.status == 409
    assert nodes.deploys("broken") == 0
