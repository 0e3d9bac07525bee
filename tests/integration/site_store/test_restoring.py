"""An older backup is restored: readers take the next version, late results write nothing, nothing is sent twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from site_store import ActionState, LeaseLost, ProcessNote, Role, SiteStore, StoreError
from site_store.__main__ import main
from site_store.records import OperationStatus
from site_store.status.leases import lease_of
from site_store.tables import metadata
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, some, want
from tests.support.stores import done_digests

UP = NodeAvailability.UP
KNOWN = NodeMemory("Deployed", "on", NodeHistory(UP, 1.0, been_up=True), PublishedState(UP), 1.0)


class Backup:
    """A backup of the test's store, as an administrator makes one while Slipway works."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        with psycopg.connect(url, autocommit=True) as connection:
            for table in metadata.sorted_tables:
                with connection.cursor().copy(f'COPY "{table.name}" TO STDOUT (FORMAT binary)'.encode()) as copy:
                    (folder / table.name).write_bytes(b"".join(copy))
            found = some(connection.execute("SELECT last_value FROM operation_op_seq").fetchone())
            self._op = found[0]

    def restore(self) -> None:
        """Bring everything back to that moment, also the sequence of `op`."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            for table in reversed(metadata.sorted_tables):
                connection.execute(f'DELETE FROM "{table.name}"'.encode())
            for table in metadata.sorted_tables:
                with connection.cursor().copy(f'COPY "{table.name}" FROM STDIN (FORMAT binary)'.encode()) as copy:
                    copy.write((self._folder / table.name).read_bytes())
            connection.execute(f"SELECT setval('operation_op_seq', {int(self._op)})".encode())


@pytest.fixture
def backup(url: str, tmp_path: Path) -> Callable[[], Backup]:
    folder = tmp_path / "backup"
    folder.mkdir()
    return lambda: Backup(url, folder)


def token(store: SiteStore) -> str:
    found = some(store.published_views.get(SITE))
    return found.token


def published(store: SiteStore, owner: str) -> tuple[int, int]:
    held = some(store.leases.take(lease_of(SITE), owner, 10))
    store.site_views.remember(held, SITE, {"n1": KNOWN})
    version = store.site_views.publish(held, SITE, {"nodes": {}}, PublishedState(UP), {}).version
    return version.epoch, version.number


def test_rule_55_readers_take_the_next_version_of_a_restored_store(
    open_store: Callable[[], SiteStore], backup: Callable[[], Backup], clock: FakeClock
) -> None:
    with open_store() as store:
        Scenario(store, clock).action()
        want(store, 1, {"n1": "d1"})
        first = published(store, "one")
        store.processes.note(ProcessNote("p", Role.SCHEDULER, "1", "1", "there", 1, 30.0, {}))
        made = backup()
        tokens = []
        for owner in ("two", "three"):
            clock.move(11)
            seen = published(store, owner)
            tokens.append(token(store))
        late = store.leases.get(lease_of(SITE))
    assert late is not None
    assert seen > first
    made.restore()
    with open_store() as store:
        settled = store.restoring.settle()
        assert settled.epoch > seen[0]
        assert store.site_views.memory(SITE) == {}, "what was seen is looked at anew"
        assert store.processes.all()[1] == [], "they may be the original's"
        with pytest.raises(LeaseLost):
            store.site_views.publish(late, SITE, {"nodes": {}}, PublishedState(UP), {})
        assert store.restoring.settle().epoch > settled.epoch, "it may be done again"
        assert published(store, "four") > seen
        assert token(store) not in tokens
        assert store.counts.verify().differences == ()


def test_a_late_result_of_a_lost_operation_writes_nothing_and_nothing_is_sent_twice(
    open_store: Callable[[], SiteStore], backup: Callable[[], Backup], clock: FakeClock
) -> None:
    with open_store() as store:
        want(store, 1, {"n1": "d1", "n2": "d2"})
        site = Scenario(store, clock)
        group = site.open(site.running({"a": ["n1"], "b": ["n2"]}), "a")
        intended = site.begin(group, Phase.PREPARE)
        made = backup()
        # After the backup it is sent, and so is another one, which the backup does not have.
        site.submit(intended)
        store.operations.record_outcome(intended.op, outcome(["n1"]), status=OperationStatus.COMPLETE)
        lost = site.submit(site.begin(group, Phase.DEPLOY))
    made.restore()
    with open_store() as store:
        site = Scenario(store, clock)
        settled = store.restoring.settle()
        assert settled.op > lost.op
        (closed,) = settled.closed
        ended = store.actions.get(closed)
        assert (ended.state, ended.verdict) == (
            ActionState.CANCELLED,
            "the store was restored from a backup, and what became of it since is not known",
        )
        # Who worked on it before may send nothing, and what came of it is refused.
        assert not store.operations.acquire_lease(intended.op, "me", 30, sending=True)
        with pytest.raises(StoreError, match=r"does not hold site|nothing may be submitted|right to submit"):
            site.begin(group, Phase.DEPLOY)
        with pytest.raises(StoreError, match="there is no operation"):
            store.operations.record_outcome(lost.op, outcome(["n1"]), status=OperationStatus.COMPLETE)
        # The next process looks first at the provisioner for what may have been sent after the backup.
        (suspect,) = store.operations.unfinished(SITE, ["n1"])
        assert (suspect.op, suspect.reference, suspect.sending) == (intended.op, intended.reference, clock.time)
        group = site.open(site.running({"a": ["n1"]}, "run-2"), "a")
        new = site.begin(group, Phase.PREPARE)
        assert new.op > lost.op
        assert new.reference not in (intended.reference, lost.reference)
        with pytest.raises(StoreError, match="there is no operation"):
            store.operations.record_late_outcome(lost.op, outcome(failed=["n1"]))
        assert (new.nodes, store.operations.get(new.op).status) == (("n1",), OperationStatus.INTENDED)
        assert store.counts.verify().differences == ()


def test_what_is_recorded_as_done_is_doubted_where_that_is_asked(site: Scenario) -> None:
    want(site.store, 1, {"n1": "d1"})
    group = site.open(site.running({"a": ["n1"]}, digests={"n1": "d1"}), "a")
    site.deploy(group)
    assert site.store.restoring.settle().doubted == 0
    assert done_digests(site.store, SITE) == {"n1": "d1"}
    assert site.store.restoring.settle(doubt=True).doubted == 1
    assert done_digests(site.store, SITE) == {}
    (record,) = site.store.nodes.of_site(SITE)
    assert record.doubt == "the store was restored from a backup, and what became of it since is not known"


def test_the_command_says_what_it_did(site: Scenario, url: str) -> None:
    action = site.running({"a": ["n1"]})
    told = CliRunner().invoke(main, ["restored", "--url", url, "--op", str(2**50), "--doubt"])
    assert told.exit_code == 0, told.output
    assert f"closed action {action.id}: mark its DAG run as failed" in told.output
    assert f"the next operation is above {2**50}, the next epoch above " in told.output
    assert "0 nodes are in doubt" in told.output
    next_one = site.running({"a": ["n1"]}, "run-2")
    assert site.begin(site.open(next_one, "a"), Phase.PREPARE).op > 2**50
