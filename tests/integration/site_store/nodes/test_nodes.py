"""Nodes: what is wanted of them, how operations leave them, who is expected to, and how they stand by the domain."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import product

from sqlalchemy import Connection, Integer, insert, literal, select

from site_store import ActionState, Claim, OperationStatus, SiteStore
from site_store.tables import is_of_wanted, node
from strategy_lib.phase import Phase
from strategy_lib.status.leaf import status_in_site
from strategy_lib.status.node_row import NodeRow, is_superseded
from strategy_lib.status.serves import serves_of
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, want
from tests.support.revisions import commit_design

DESIGN = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def wanted(store: SiteStore) -> dict[str, tuple[int | None, str | None]]:
    return {record.name: (record.wanted_revision, record.wanted_digest) for record in store.nodes.of_site(SITE)}


def test_rule_21_the_wish_is_that_of_the_last_who_said_it(store: SiteStore) -> None:
    want(store, 1, {"n1": "a", "n2": "b", 'ö"\\': "c"})
    want(store, 9, {"n1": "z"}, "south")
    want(store, 2, {"n2": "b2", "n3": "c"})
    assert wanted(store) == {"n1": (None, None), "n2": (2, "b2"), "n3": (2, "c"), 'ö"\\': (None, None)}
    assert list(wanted(store)) == sorted(wanted(store))
    want(store, 1, {"n1": "a"})
    assert wanted(store)["n1"] == (1, "a")
    want(store, 3, {})
    assert set(wanted(store).values()) == {(None, None)}
    assert store.nodes.of_site("south")[0].wanted_digest == "z"


def test_conditions_are_kept_beside_the_wish(store: SiteStore) -> None:
    want(store, 1, {"n1": "a", "n2": "b"})
    store.nodes.record_conditions(SITE, {"n1": "deployed", "n3": "new"})
    store.nodes.record_conditions(SITE, {"n3": "ready"})
    conditions = {record.name: record.condition for record in store.nodes.of_site(SITE)}
    assert conditions == {"n1": "deployed", "n2": None, "n3": "ready"}
    assert {one.name: one.condition for one in store.nodes.of_site(SITE) if one.name in ("n2", "n3")}["n3"] == "ready"
    assert wanted(store)["n1"] == (1, "a")
    assert not store.nodes.of_site(SITE)[0].is_up_to_date


def test_rule_21_the_same_commit_again_says_what_is_wanted_again(store: SiteStore) -> None:
    assert commit_design(store, SITE, DESIGN).created
    said = wanted(store)
    assert said["n1"][0] == 1
    want(store, 1, {"n1": "another", "n2": "b"})
    assert not commit_design(store, SITE, DESIGN).created
    assert wanted(store) == {**said, "n2": (None, None)}


def test_commits_lock_the_nodes_of_a_site_by_name(open_store: Callable[[], SiteStore]) -> None:
    first, second = open_store(), open_store()
    want(first, 1, {"n5": "a", "n3": "a", "n1": "a", "n4": "a", "n2": "a"})
    with first._database.engine.connect() as held, ThreadPoolExecutor(1) as threads:
        held.exec_driver_sql("SELECT name FROM node WHERE name = 'n3' FOR UPDATE")
        # What stays, what is new, and what is no longer wanted.
        writes = threads.submit(want, second, 2, {"n5": "b", "n1": "b", "n9": "b", "n3": "b"})
        with first._database.engine.connect() as other:
            while not other.exec_driver_sql(WAITING).scalar():
                assert not writes.done(), "it waits for the node that another has"
                wait([writes], timeout=0.02)
                other.rollback()
            free = other.exec_driver_sql("SELECT name FROM node ORDER BY name FOR UPDATE SKIP LOCKED").scalars().all()
            assert free == ["n4", "n5"], "locked up to the node that another has, and none behind it"
            other.rollback()
        held.rollback()
        writes.result(30)
    assert {name for name, (number, _) in wanted(first).items() if number == 2} == {"n1", "n3", "n5", "n9"}


def _nodes(store: SiteStore) -> dict[str, NodeRow]:
    return {record.name: record for record in store.nodes.of_site(SITE)}


def _standings(store: SiteStore) -> dict[str, str]:
    return {name: record.standing for name, record in _nodes(store).items()}


def test_a_node_stands_as_its_newest_operation_left_it(store: SiteStore, site: Scenario, clock: FakeClock) -> None:
    digests = {"n1": "x", "n2": "x", "n3": "x"}
    want(store, 1, digests)
    ran = site.running({"a": ["n1", "n2", "n3"]}, digests=digests)
    assert _standings(store) == {"n1": "pending", "n2": "pending", "n3": "pending"}
    assert {record.owner for record in _nodes(store).values()} == {"provisioner:slipway_provisioner"}
    record = site.open(ran, "a")
    began = clock.time
    prepared = site.submit(site.begin(record, Phase.PREPARE))
    assert set(_standings(store).values()) == {"processing"}
    clock.move(60)
    failed = outcome(["n1", "n2"], ["n3"], notes={"n3": "no power"})
    store.operations.record_outcome(prepared.op, failed, status=OperationStatus.COMPLETE)
    assert _standings(store) == {"n1": "pending", "n2": "pending", "n3": "error"}
    n3 = _nodes(store)["n3"]
    assert (n3.error, n3.error_action, n3.first_updated, n3.last_updated) == ("no power", ran.id, began, clock.time)
    deployed = site.submit(site.begin(record, Phase.DEPLOY))
    lost = outcome(["n1"], [], ["n2"], notes={"n2": "no answer"})
    store.operations.record_outcome(deployed.op, lost, status=OperationStatus.TIMED_OUT)
    assert _standings(store) == {"n1": "success", "n2": "error", "n3": "error"}
    assert _nodes(store)["n2"].error == "timeout: no answer"
    store.operations.record_late_outcome(deployed.op, outcome(["n2"]))
    n2 = _nodes(store)["n2"]
    assert (n2.standing, n2.error, n2.fixed) == ("success", None, None), "nothing was repeated: the truth came late"


def test_what_succeeds_when_it_is_repeated_says_what_had_to_be_fixed_and_when(
    store: SiteStore, site: Scenario, clock: FakeClock
) -> None:
    want(store, 1, {"n1": "x", "n2": "x"})
    ran, record = site.opened({"a": ["n1", "n2"]}, digests={"n1": "x", "n2": "x"})
    site.do(record, Phase.PREPARE, outcome(["n2"], ["n1"], notes={"n1": "no power"}))
    site.do(record, Phase.DEPLOY)
    site.fail(record)
    again = site.open(ran, "a", "second")
    (n1, n2) = store.tasks.of_step(ran.id, Phase.PREPARE)
    assert (n1[1].status, n1[1].error) == ("pending", None)
    clock.move(3600)
    site.deploy(again)
    said = "no power (succeeded at 2026-11-21 13:00:00 UTC)"
    (n1, n2) = store.tasks.of_step(ran.id, Phase.PREPARE)
    assert (n1[1].fixed, n2[1].fixed) == (said, None)
    assert [one.fixed for _, one in store.tasks.of_step(ran.id, Phase.DEPLOY)] == [None, None], "it never failed"
    nodes = _nodes(store)
    assert (nodes["n1"].standing, nodes["n1"].error, nodes["n1"].fixed) == ("success", None, said)
    assert (nodes["n2"].standing, nodes["n2"].fixed) == ("success", None)


def test_a_step_that_destroys_leaves_nodes_deleted_and_a_closed_action_leaves_none_at_work(
    store: SiteStore, site: Scenario
) -> None:
    want(store, 1, {"n1": "x"})
    ran = site.running({"a": ["n3"]})
    step = store.operations.begin(Claim(ran.id, SITE, None, 1, Phase.DESTROY, ["n1", "n2"], "file:///design"))
    site.submit(step)
    assert _standings(store)["n2"] == "processing"
    store.operations.record_outcome(step.op, outcome(["n1", "n2"]), status=OperationStatus.COMPLETE)
    assert {name: record.status for name, record in _nodes(store).items()} == {"n1": "deleted", "n2": "deleted"}
    assert _standings(store) == {"n1": "pending", "n2": "deleted"}, "n1 is wanted again"
    begun = site.submit(site.begin(site.open(ran, "a"), Phase.PREPARE))
    assert _standings(store)["n3"] == "processing"
    store.actions.close(ran.id, ActionState.CANCELLED, "stopped")
    n3 = _nodes(store)["n3"]
    assert (n3.status, n3.error) == ("error", "lost: the action ended before its result was known")
    store.operations.record_late_outcome(begun.op, outcome(["n3"]))
    assert _nodes(store)["n3"].status is None


def test_a_released_node_is_at_work_no_longer_and_one_that_cannot_be_sent_has_failed(
    store: SiteStore, site: Scenario
) -> None:
    ran, record = site.opened({"a": ["n1", "n2"]})
    released = site.submit(site.begin(record, Phase.RELEASE, ["n1"]))
    assert _nodes(store)["n1"].status == "processing"
    store.operations.record_outcome(released.op, outcome(["n1"]), status=OperationStatus.COMPLETE)
    assert _nodes(store)["n1"].status is None
    site.begin(record, Phase.PREPARE, ["n1"])
    store.tasks.fail_unsent(ran.id, SITE, "a", record.attempt, {"n2": "it is somebody else's"})
    assert store.tasks.of_step(ran.id, Phase.PREPARE)[1][1].error == "it is somebody else's"
    assert _nodes(store)["n1"].status == "processing"


def test_who_is_expected_is_known_from_the_plan_on_and_follows_the_connection(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "x"})
    ran = site.running({"a": ["n1"]}, digests={"n1": "x"})
    assert store.tasks.of_step(ran.id, Phase.DEPLOY)[0][1].owner == "provisioner:slipway_provisioner"
    store.actions.decide_connection(ran.id, "drydock_north")
    assert store.tasks.of_step(ran.id, Phase.DEPLOY)[0][1].owner == "provisioner:drydock_north"
    assert _nodes(store)["n1"].owner == "provisioner:drydock_north"


def test_rule_35_a_node_that_is_withheld_says_when_and_begins_anew_with_its_group(
    site: Scenario, clock: FakeClock
) -> None:
    ran, record = site.opened({"a": ["n1", "n2"]})
    clock.move(5)
    site.store.tasks.settle_deployed(ran.id, Phase.PREPARE, [], {"n2": "design changed"})
    times = [
        (task.status, task.started, task.ended)
        for phase in (Phase.PREPARE, Phase.DEPLOY)
        for name, task in site.store.tasks.of_step(ran.id, phase)
        if name == "n2"
    ]
    assert times == [("withheld", clock.time, clock.time)] * 2
    site.fail(record)
    site.store.groups.open_attempt(ran.id, "a", "again")
    (_, n2) = site.store.tasks.of_step(ran.id, Phase.DEPLOY)
    assert (n2[1].status, n2[1].started, n2[1].ended) == ("pending", None, None)


def test_rule_35_a_node_that_is_as_wanted_already_has_its_times_and_owner(site: Scenario, clock: FakeClock) -> None:
    ran = site.running({"a": ["n1", "n2"]}, done=["n1"])
    planned = clock.time
    clock.move(5)
    site.store.tasks.settle_deployed(ran.id, Phase.PREPARE, ["n2"], {})
    owner = "provisioner:slipway_provisioner"
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        (_, n1), (_, n2) = site.store.tasks.of_step(ran.id, phase)
        assert (n1.status, n1.started, n1.ended, n1.owner) == ("success", planned, planned, owner)
        assert (n2.status, n2.started, n2.ended, n2.owner) == ("success", clock.time, clock.time, owner)


WANTED = (None, "a", "b")
DONE = (None, "a")
STATUSES = (None, "processing", "success", "error", "drifted", "powered on", "deleted", "mended")
#: How these are stored; in both of them the error names no action.
STORED = {"drifted": "error", "powered on": "processing"}
REVISIONS = (None, 1, 2, 3)
#: The wanted version at which a person asked again, the one that it was done in, and that its error was about.
ASKED = ((None, 1, 1), (2, None, None), (2, 1, 1), (2, 2, 1), (2, 1, 2), (2, 3, 3))


def test_rule_27_standing_and_what_is_served_are_what_the_domain_says_of_the_same_facts(store: SiteStore) -> None:
    cases = list(product(WANTED, DONE, STATUSES, REVISIONS, (None, "somebody else"), ASKED))
    rows = [
        {
            "site": SITE,
            "name": str(number),
            "wanted_digest": wanted,
            "wanted_revision": 2 if wanted else None,
            "done_digest": done,
            "done_revision": 1 if done else None,
            "status": STORED.get(status or "", status),
            "error": "it broke" if status in ("error", *STORED) else None,
            "error_action": "01A" if status == "error" else None,
            "error_revision": about,
            "doubt": doubt,
            "wanted_version": 3,
            "touched": touched,
            "done_version": done_version,
            "error_version": error_version,
        }
        for number, (wanted, done, status, about, doubt, (touched, done_version, error_version)) in enumerate(cases)
    ]

    def work(tx: Connection) -> None:
        tx.execute(insert(node), rows)

    store._database.write(work)
    found = store.nodes.of_site(SITE)
    assert len(found) == len(cases)
    for one in found:
        assert (one.standing, one.serves) == (status_in_site(one).status, serves_of(one)), one


def test_rule_46_which_errors_are_superseded_is_what_the_domain_says(store: SiteStore) -> None:
    versions = (None, 1, 2, 3)
    rows = [{"site": SITE, "name": f"{at}", "wanted_version": wanted} for at, wanted in enumerate(versions)]

    def work(tx: Connection) -> None:
        tx.execute(insert(node), rows)
        for version in versions:
            query = select(node.c.wanted_version, is_of_wanted(literal(version, Integer())))
            found = tx.execute(query.where(node.c.site == SITE)).all()
            assert len(found) == len(versions)
            assert all(current is not is_superseded(version, wanted) for wanted, current in found), version

    store._database.write(work)
