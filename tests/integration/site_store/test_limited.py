"""Rule 41: what the store lets a person, a step and a watcher do; every cell is tried."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import pytest

from site_store import BufferMode, SiteStore, StoreError
from site_store.store import WRITES
from strategy_lib.actors import Access, Actor, may
from tests.integration.site_store.scenario import SITE, FakeClock
from tests.support.revisions import commit_design
from tests.support.stores import new_store

DESIGN = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"
OTHER = DESIGN.replace("{}", "{rack: r1}")
#: The methods that write feedback. One that is new is named here, or in `WRITES`.
FEEDBACK = {
    *("actions.close", "actions.create", "actions.decide_connection", "actions.ensure", "actions.mark_design_fetch"),
    *("actions.mark_noted", "actions.mark_step", "actions.record_command", "actions.set_paused"),
    *("actions.take_version", "approvals.answer", "approvals.ask", "approvals.mark_noted", "checks.record"),
    *("counts.merge", "counts.rebuild", "drifts.close_others", "events.add", "events.prune", "groups.finish"),
    # It writes nothing, and is asked whether it might.
    "home.require_own",
    *(
        "home.end_restart",
        "home.note_compared",
        "home.note_shown",
        "groups.interrupt",
        "groups.mapped",
        "groups.open_attempt",
        "groups.save_criteria",
        "groups.save_plan",
    ),
    *("leases.give_up", "leases.renew", "leases.renew_all", "leases.take", "locks.acquire", "locks.release"),
    *("locks.take_over", "node_errors.acknowledge", "node_reports.notify", "node_troubles.tell"),
    *("nodes.record_conditions", "nodes.take_signatures", "object_changes.record", "object_changes.route"),
    *(
        "object_changes.take",
        "operations.acquire_lease",
        "operations.begin",
        "operations.finish",
        "operations.mark_running",
    ),
    *("operations.mark_submitted", "operations.note_at_work", "operations.record_late_outcome"),
    *("operations.record_outcome", "outbox.prune", "outbox.record_attempt", "outbox.route", "owners.check_in"),
    *("owners.note_changes", "provisioner_lists.note_pace", "provisioner_lists.save", "questions.forget"),
    *("questions.keep", "repairs.begin", "repairs.observe", "repairs.powered_on", "repairs.refused", "repairs.started"),
    *("reporters.admit", "reporters.create", "reporters.report", "reporters.revoke", "reports.save"),
    *("shared_lists.begin", "shared_lists.prune", "shared_lists.time_out", "site_stops.settle", "site_views.prune"),
    *("site_views.publish", "site_views.remember", "steps.begin", "steps.leave", "steps.skip", "tasks.explain_pending"),
    *("tasks.fail_unsent", "tasks.plan_step", "tasks.settle_deployed", "waits.hold", "waits.wait", "watches.note"),
    *("processes.forget", "processes.note", "processes.prune", "wishes.adopt"),
}
#: What each call does to the site.
CALLS: dict[str, tuple[Access, Callable[[SiteStore], object]]] = {
    "the newest revision": (Access.READ_DESIGN, lambda store: store.revisions.get(SITE)),
    "the buffer": (Access.READ_DESIGN, lambda store: store.buffers.get(SITE)),
    "the objects": (Access.READ_DESIGN, lambda store: store.objects.page(SITE, 1000)),
    "what was done": (Access.READ_FEEDBACK, lambda store: store.nodes.of_site(SITE)),
    "a commit": (Access.WRITE_DESIGN, lambda store: commit_design(store, SITE, OTHER)),
    "to the buffer": (Access.WRITE_DESIGN, lambda store: store.buffers.put(SITE, "a", "x", [], BufferMode.REJECT, "x")),
    "discard": (Access.WRITE_DESIGN, lambda store: store.buffers.discard(SITE, "ann")),
    "a candidate": (Access.WRITE_DESIGN, lambda store: store.revisions.add_candidate(SITE, "x")),
    "no candidate": (Access.WRITE_DESIGN, lambda store: store.revisions.remove_candidate("x")),
    "touch": (Access.TOUCH, lambda store: store.wishes.touch(SITE, ["n1"], "ann")),
    "adopt": (Access.WRITE_FEEDBACK, lambda store: store.wishes.adopt(SITE, ["n1"], "ann")),
    "an event": (Access.WRITE_FEEDBACK, lambda store: store.events.add(SITE, "kind", "said")),
    "an owner": (Access.WRITE_FEEDBACK, lambda store: store.owners.check_in("airflow:x", 60)),
    "what is seen": (Access.WRITE_FEEDBACK, lambda store: store.provisioner_lists.save(SITE, "drydock", {})),
}


@pytest.fixture
def opened(url: str, clock: FakeClock) -> Iterator[Callable[[Actor | None], SiteStore]]:
    stores: list[SiteStore] = []

    def open_as(actor: Actor | None) -> SiteStore:
        stores.append(SiteStore.open(url, now=clock, actor=actor, touches=["node/n1"]))
        return stores[-1]

    commit_design(open_as(None), SITE, DESIGN)
    yield open_as
    for store in stores:
        store.close()


@pytest.mark.parametrize("actor", [None, Actor.STEP, Actor.WATCHER])
def test_rule_41_every_cell(opened: Callable[[Actor | None], SiteStore], actor: Actor | None) -> None:
    store = opened(actor)
    for name, (access, call) in CALLS.items():
        if access in (Access.READ_DESIGN, Access.READ_FEEDBACK) or actor is None or may(actor, access):
            call(store)
        else:
            with pytest.raises(StoreError, match=f"a {actor} may not"):
                call(store)
            if access is Access.WRITE_DESIGN:
                assert store.revisions.get(SITE).number == 1, name
                assert store.buffers.get(SITE).is_empty, name


def test_rule_41_each_method_that_writes_is_of_the_design_or_feedback() -> None:
    writing = set()
    with new_store() as url, SiteStore.open(url) as store:
        for name, repository in vars(store).items():
            for method, function in inspect.getmembers(type(repository), inspect.isfunction):
                writes = re.search(r"self\._(database\.write|transact|transact_led)\(", inspect.getsource(function))
                if not method.startswith("_") and writes:
                    writing.add(f"{name}.{method}")
    assert writing == FEEDBACK | {f"{name}.{method}" for name, methods in WRITES.items() for method in methods}


def test_rule_41_a_watcher_touches_only_what_it_names(opened: Callable[[Actor | None], SiteStore]) -> None:
    store = opened(Actor.WATCHER)
    with pytest.raises(StoreError, match="a watcher may touch only what it names"):
        store.wishes.touch(SITE, ["n1", "n2"], "watcher:it")
    assert store.wishes.touch(SITE, ["n1"], "watcher:it") == {"n1": 2}
