"""Numbers about the states of nodes, and the metrics that come of them."""

from __future__ import annotations

from datetime import timedelta

from site_engine.monitoring.metrics import to_text
from site_engine.trees.metric_samples import read_samples
from site_store import AskedState, SiteStore
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import PublishedState
from tests.integration.site_store.scenario import SITE, FakeClock, some, want

UP, DOWN, MAINTENANCE = NodeAvailability.UP, NodeAvailability.DOWN, NodeAvailability.MAINTENANCE


def test_nodes_by_their_three_states_with_leader_version_and_age(store: SiteStore, clock: FakeClock) -> None:
    want(store, 1, dict.fromkeys(("n1", "n2", "n3"), "d"))
    assert store.state_counts.read() == {}
    held = some(store.leases.take(lease_of(SITE), "host-1:4711:ab12", 60))
    seen = {
        "n1": NodeMemory("Deployed", "on", NodeHistory(UP, 1.0, crashes=2), PublishedState(UP)),
        "n2": NodeMemory("Deployed", "off", NodeHistory(DOWN, 1.0, crashes=1), PublishedState(MAINTENANCE, "gone")),
        "n3": NodeMemory(),
    }
    store.site_views.remember(held, SITE, seen)
    newest = store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(UP), {}).version
    until = clock() + timedelta(seconds=30)
    store.user_states.change(SITE, ["n1"], AskedState(MAINTENANCE, "disk", force=True, until=until), "ann")
    store.user_states.change(SITE, ["n3", "not seen yet"], AskedState(DOWN, "scrap", force=True), "ann")
    clock.move(20)
    counts = store.state_counts.read()[SITE]
    assert (+counts.reported, counts.crashes) == ({UP: 1, DOWN: 1}, 3)
    assert +counts.user == {UP: 1, MAINTENANCE: 1, DOWN: 2}
    assert +counts.generated == {UP: 1, MAINTENANCE: 1, seen["n3"].view.state: 1}
    assert (counts.version, counts.age, counts.leader) == (newest, 20.0, held.owner)
    text = to_text(read_samples(store))
    for line in (
        f'slipway_node_states{{site="{SITE}",kind="reported",state="up"}} 1',
        f'slipway_node_states{{site="{SITE}",kind="reported",state="initializing"}} 0',
        f'slipway_node_states{{site="{SITE}",kind="user",state="down"}} 2',
        f'slipway_node_crashes{{site="{SITE}"}} 3',
        f'slipway_site_leader{{site="{SITE}",host="host-1"}} 1',
        f'slipway_site_state_epoch{{site="{SITE}"}} {newest.epoch}',
        f'slipway_site_state_version{{site="{SITE}"}} {newest.number}',
        f'slipway_site_state_age_seconds{{site="{SITE}"}} 20',
    ):
        assert f"{line}\n" in text, text
    clock.move(41)
    counts = store.state_counts.read()[SITE]
    assert (+counts.user, counts.leader) == ({UP: 2, DOWN: 2}, None), "the state has ended, and so has the lease"
    assert f'slipway_site_leader{{site="{SITE}",host=""}} 0\n' in to_text(read_samples(store))
