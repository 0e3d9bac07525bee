"""A group whose plan is older than the published states of nodes plans again (rule 54)."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from provisioner_client.protocol import ListedNode
from site_store import AskedState, SiteStore
from site_store.status.events import EventKind
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import PublishedState
from tests.integration.site_store.scenario import some
from tests.support.driving import begin_with
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

ABC = [node("a"), node("b"), node("c")]


class Interfering(FakeProvisioner):
    """A provisioner; while it lists its nodes for the first times, an administrator sets one, and it is published."""

    def __init__(self, clock: FakeClock, store: SiteStore, times: int) -> None:
        super().__init__(clock)
        self.store, self.left = store, times
        held = some(store.leases.take(lease_of("alpha"), "leader", 10_000))
        self.held = held

    def nodes(self, names: object = None) -> dict[str, ListedNode]:
        if self.left:
            self.left -= 1
            state = NodeAvailability.UP if self.left % 2 else NodeAvailability.MAINTENANCE
            change = self.store.user_states.change("alpha", ["b"], AskedState(state, "new disk", force=True), "ann")
            assert change.change.modified
            self.store.site_views.publish(self.held, "alpha", {"nodes": {}}, PublishedState(NodeAvailability.UP), {})
        return super().nodes()


@pytest.mark.parametrize(("times", "outdated", "nodes"), [(1, 1, ["a", "c"]), (40, 2, ["a", "b", "c"])])
def test_rule_54_a_state_that_is_set_while_a_group_plans_has_it_plan_again_a_few_times_at_most(
    url: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
    outdated: int,
    nodes: list[str],
) -> None:
    # The list is read for each plan, and each time a state is set meanwhile.
    monkeypatch.setattr("site_engine.operations.resume.SEEN_FOR", timedelta(0))
    caplog.set_level(logging.INFO)
    clock = FakeClock()
    with SiteStore.open(url, clock.now) as store:
        provisioner = Interfering(clock, store, times)
        driving = begin_with(store, tmp_path, lambda _: provisioner, clock)(site(ABC, [group("all", critical=False)]))
        driving.group("all")
        events = store.events.of_action(driving.action.id)
        newest = str(store.site_views.version("alpha"))
    begun = [one.data for one in events if one.kind == EventKind.OPERATION_BEGUN]
    again = [line for line in caplog.messages if line.startswith("The states of nodes are newer by now (")]
    assert provisioner.submissions()[0] == ("prepare_nodes", nodes)
    if times == 1:
        assert len(again) == outdated
        assert [data["site_state"] for data in begun] == [newest, newest], "each names the version it was planned with"
    else:
        assert len(again) == outdated * len(begun)
        assert ["site_state" in data for data in begun] == [False, False], "the last plan counts, whatever comes"
