"""A site of two nodes that are done: the lists in which they drift, and the job of the controller that repairs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from site_engine.controller.repairs import REPAIR_KIND, Remedies, repair_site
from site_engine.errors import AirflowApiError, AirflowRefused
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.trees.nodes import site_nodes
from site_store import ActionState, Claim, NewAction, NewPlan, PlannedGroup, SiteStore
from site_store.records import Lease, OperationStatus
from site_store.status.leases import lease_of
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site

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


NAME = "controller"


def shown(store: SiteStore) -> dict[str, str]:
    """What the tree of the site says of its nodes."""
    return {one["node"]: one["status"] for one in site_nodes(store, SITE)["nodes"]}


class Starter:
    """Starts repairs as Slipway's API does: an action for each run, once; or it refuses all, or its answers are lost.

    `lost`: no answer comes, though the action is begun. `late`: none comes, and nothing is begun yet.
    """

    def __init__(self, store: SiteStore) -> None:
        self.store = store
        self.asked: list[tuple[tuple[str, ...], bool]] = []
        self.revisions: list[int] = []
        self.refusal: str | None = None
        self.lost = self.late = False

    def __call__(
        self, site: str, run_id: str, nodes: Sequence[str], *, redeploy: bool, revision: int, held: Lease
    ) -> str:
        self.asked.append((tuple(nodes), redeploy))
        self.revisions.append(revision)
        if self.refusal is not None:
            raise AirflowRefused(409, self.refusal)
        if self.late:
            raise AirflowApiError("no answer for 25 s")
        made = self.store.actions.create(
            NewAction(REPAIR_KIND, site, revision, {}, "slipway", context_marker=None, whole_site=False),
            exclusive=True,
            run_id=run_id,
        )
        if self.lost:
            raise AirflowApiError("no answer for 25 s")
        return made.id


class Power:
    """Powers nodes on as Slipway's API does at MAAS; or it refuses."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refused: Mapping[str, str] = {}
        self.trouble: str | None = None
        self.lost: str | None = None

    def __call__(self, site: str, run_id: str, nodes: Sequence[str], *, held: Lease) -> Mapping[str, str]:
        self.asked.append(tuple(nodes))
        if self.trouble is not None:
            raise AirflowRefused(409, self.trouble)
        if self.lost is not None:
            raise AirflowApiError(self.lost)
        return self.refused


class Scene:
    """A site of two nodes that are done, its watch, and the controller's job."""

    def __init__(self, store: SiteStore, clock: FakeClock, **settings: Any) -> None:
        self.store, self.clock, self.settings = store, clock, settings
        self.commit()
        deploy(store, *NODES)
        lists(store, clock, n1=ON, n2=ON)
        self.watch, self.site_lease = DriftWatch(store, SITE), lead(store)
        lease = store.leases.take(NAME, "me", 86400)
        assert lease is not None
        self.lease = lease
        self.start, self.power = Starter(store), Power()

    def commit(self, profile: str = "compute") -> None:
        text = site([node(name, profile=profile) for name in NODES], [group("g", list(NODES))], region=SITE)
        settings = document("slipway/SiteSettings/v1", "settings", self.settings)
        commit_design(self.store, SITE, text + yaml.safe_dump(settings, explicit_start=True))

    def see(self, looks: int = 2, **nodes: tuple[str, str]) -> None:
        for _ in range(looks):
            lists(self.store, self.clock, **nodes)
            held = self.store.leases.renew(self.site_lease, 86400)
            self.watch.look(held)

    def goes_dark(self, *names: str) -> None:
        """Have nodes off in two lists of a provisioner that can power them on."""
        off = {"status": "Deployed", "power": "off", "condition": "deployed", "can_power_on": True}
        on = {"status": "Deployed", "power": "on", "condition": "deployed"}
        for _ in range(2):
            self.clock.move(5)
            self.store.provisioner_lists.save(SITE, "c", {name: off if name in names else on for name in NODES})
            self.watch.look(self.store.leases.renew(self.site_lease, 86400))

    def look(self) -> list[tuple[tuple[str, ...], bool]]:
        """Let the job look once, and return what it started meanwhile."""
        before = len(self.start.asked)
        repair_site(self.store, SITE, Remedies(self.start, self.power), lambda: self.lease)
        return self.start.asked[before:]

    def end(self, *, good: bool) -> None:
        """Let the repair that is at work end; one that is good has deployed its nodes."""
        (begun,) = self.store.repairs.under_way(SITE)
        assert begun.action_id is not None
        self.store.actions.close(begun.action_id, ActionState.SUCCESS, "done")
        if good:
            deploy(self.store, *begun.nodes)

    def said(self, name: str) -> list[str]:
        past = self.store.site_nodes.past(SITE, name)
        return [event.message for event in past.events if event.kind == "repair"][::-1]


Scenes = Callable[..., Scene]
"""Makes a scene, with settings of the site."""
