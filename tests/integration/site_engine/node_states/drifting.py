"""A site of two nodes that are done, the lists in which they drift, and what the store says of them then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from site_store import ActionState, Claim, NewAction, NewPlan, PlannedGroup, SiteStore
from site_store.records import Lease, OperationStatus
from site_store.status.leases import lease_of
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

ON, OFF, READY = ("Deployed", "on"), ("Deployed", "off"), ("Ready", "off")
ALICES = ("Deployed, owned by alice", "on")
NODES = ("n1", "n2")


def commit(store: SiteStore, *, profile: str = "compute", **group_fields: Any) -> None:
    groups = [{**group("g", list(NODES)), **group_fields}]
    commit_design(store, SITE, site([node(name, profile=profile) for name in NODES], groups, region=SITE))


def deploy(store: SiteStore, *names: str, failed: tuple[str, ...] = ()) -> None:
    """An action that deploys these nodes as they are wanted."""
    digests = {one.name: one.wanted_digest or "" for one in store.nodes.of_site(SITE)}
    revision = store.site_views.pulse(SITE).revision or None
    action = store.actions.create(
        NewAction("deploy_site", SITE, revision, {}, "ann", context_marker=None), exclusive=True
    )
    carry_out(store, action.id, names, digests, failed)


def carry_out(
    store: SiteStore,
    action_id: str,
    names: Sequence[str],
    digests: Mapping[str, str],
    failed: Sequence[str] = (),
    *,
    repairs: bool = False,
) -> None:
    """An action that was made deploys these nodes, for these digests."""
    store.locks.acquire(action_id)
    planned = PlannedGroup(Group("g", critical=True), tuple(names))
    store.groups.save_plan(action_id, NewPlan([planned], (), digests, repairs=repairs))
    attempt = store.groups.open_attempt(action_id, "g", "first")
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        found = dict.fromkeys(names, "ready")
        operation = store.operations.begin(
            Claim(action_id, SITE, "g", attempt.attempt, phase, names, "file:///d", found)
        )
        store.operations.acquire_lease(operation.op, "me", 30, sending=True)
        store.operations.mark_submitted(operation.op, f"task-{operation.op}")
        bad = failed if phase is Phase.DEPLOY else ()
        result = Outcome(frozenset(names) - set(bad), frozenset(bad), frozenset())
        store.operations.record_outcome(operation.op, result, status=OperationStatus.COMPLETE, result="success")
    store.actions.close(action_id, ActionState.SUCCESS, "done")


def lists(store: SiteStore, clock: FakeClock, **nodes: tuple[str, str]) -> None:
    clock.move(5)
    conditions = {"Deployed": "deployed", "Ready": "ready", "Failed deployment": "failed_deployment"}
    said = {
        name: {"status": word, "power": power, "condition": conditions.get(word, "other")}
        for name, (word, power) in nodes.items()
    }
    store.provisioner_lists.save(SITE, "c", said)


def lead(store: SiteStore, owner: str = "me") -> Lease:
    held = store.leases.take(lease_of(SITE), owner, 3600)
    assert held is not None
    return held


def standings(store: SiteStore) -> dict[str, tuple[str, str | None]]:
    return {one.name: (one.standing, one.error) for one in store.nodes.of_site(SITE)}
