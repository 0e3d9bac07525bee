"""A database of the first version of Slipway is brought up to date, and nothing in it is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, insert, inspect
from sqlalchemy import text as sql

from site_store import CollectionRecord, SchemaNotCurrent, SiteStore, Version
from site_store.sql.schema_version import CURRENT, VERSION_TABLE
from site_store.tables import metadata, node
from tests.integration.site_store.designs.desk import counts
from tests.integration.site_store.sql import first_schema
from tests.integration.site_store.sql.first_schema import FIRST, MOMENT, SECOND
from tests.support.revisions import commit_design
from tests.support.stores import upgrade_fails_at


@pytest.fixture
def old(empty_url: str) -> Iterator[SiteStore]:
    first_schema.make(empty_url)
    with pytest.raises(SchemaNotCurrent, match="is at schema 0001"):
        SiteStore.open(empty_url)
    assert f"upgraded from schema 0001 to schema {CURRENT}" in SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        yield store


def test_an_old_database_becomes_what_a_new_one_is_and_keeps_all(old: SiteStore) -> None:
    """One test for all of it, because making such a database takes long."""
    _check_tables(old)
    _check_revisions(old)
    _check_actions(old)
    _check_operations(old)
    _check_what_comes_next(old)


def _check_tables(old: SiteStore) -> None:
    def differences(tx: Connection) -> tuple[list[object], set[str]]:
        options = {"compare_type": True, "version_table": VERSION_TABLE}
        made = list(compare_metadata(MigrationContext.configure(tx, opts=options), metadata))
        return made, set(inspect(tx).get_table_names())

    different, names = old._database.read(differences)
    assert different == []
    assert names == {*metadata.tables, VERSION_TABLE, *({"sqlite_sequence"} & names)}


def _check_revisions(old: SiteStore) -> None:
    assert old.sites.committed() == ["north", "south"]
    listed = old.revisions.newest("north")
    assert [(one.number, one.base, one.forced, one.problems, one.rollback_of) for one in listed] == [
        (3, 2, False, (), None),
        (2, 1, False, (), None),
        (1, None, False, (), None),
    ]
    for number, text in ((1, FIRST), (2, SECOND), (3, FIRST)):
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert old.sites.collections("north", number) == [CollectionRecord("design", text, digest)]
        found = old.revisions.get("north", number)
        assert (found.text, found.digest, found.created_at, found.created_by) == (text, digest, MOMENT, "ann")
    assert [
        (d.collection, d.position, d.schema, d.name, d.layer, d.data) for d in old.revisions.documents("north", 3)
    ] == [
        ("design", 0, "s/A/v1", "a1", "site", {"x": [1, "ä", None]}),
        ("design", 1, "s/A/v1", "a2", None, None),
    ]
    assert [d.data for d in old.revisions.documents("north", 2)] == [2]
    assert old.revisions.documents("south", 1) == []
    assert [old.revisions.design_by_token(f"token-{place}") for place in range(4)] == [FIRST, SECOND, FIRST, FIRST]
    assert counts(old) == (3, 3), "a text that several revisions have is there once"


def _check_actions(old: SiteStore) -> None:
    found = {one.action.id: one.action for one in old.actions.newest()}
    assert {key: (one.dry_run, not one.whole_site) for key, one in found.items()} == {
        "01A": (False, False),
        "01B": (False, False),
        "01C": (True, False),
        "01D": (False, True),
        "01E": (False, True),
    }
    assert (found["01B"].parameters["force"], found["01B"].created) == (True, MOMENT)
    assert [one.id for one in found.values() if one.has_report] == ["01A"]
    assert old.reports.get("01A") == {"verdict": "success", "nodes": ["ä"]}
    assert old.reports.get("01B") is None
    assert old.sites.versions("north") == {
        Version.BUFFER: None,
        Version.COMMITTED: 3,
        Version.LAST_SITE_ACTION: 2,
        Version.SUCCESSFUL_SITE_ACTION: 1,
    }


def _check_operations(old: SiteStore) -> None:
    """What somebody had the right to send may have been sent, at that time at the latest; what nobody had, was not."""
    sending = {str(one.phase): one.sending for one in old.operations.of_action("01B")}
    assert sending == {
        "verify_site": MOMENT + timedelta(hours=2),
        "prepare_site": MOMENT + timedelta(hours=3),
        "prepare": None,
    }


def _check_what_comes_next(old: SiteStore) -> None:
    assert old.buffers.get("north").base_revision == 3
    same = commit_design(old, "north", FIRST, [])
    assert (same.number, same.created) == (3, False)
    new = commit_design(old, "north", SECOND, [])
    assert (new.number, new.base, new.created) == (4, 3, True)
    assert [d.data for d in old.revisions.documents("north", 4)] == [2]
    assert commit_design(old, "south", "b: 1\n", []).number == 2


def test_an_upgrade_that_fails_leaves_the_old_database(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first_schema.make(empty_url)
    upgrade_fails_at("drop_index", empty_url, monkeypatch)
    with pytest.raises(SchemaNotCurrent, match="is at schema 0001"):
        SiteStore.open(empty_url)
    assert "upgraded from schema 0001" in SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        _check_revisions(store)


def test_what_an_upgrade_has_sqlite_look_at_are_its_large_tables(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    SiteStore.upgrade(url)
    with SiteStore.open(url) as store:
        nodes = [{"site": "north", "name": f"n{number}"} for number in range(1000)]
        store._database.write(lambda tx: tx.execute(insert(node), nodes))
        store._database.look_at_large(metadata.sorted_tables)
        seen = store._database.read(lambda tx: tx.scalars(sql("SELECT DISTINCT tbl FROM sqlite_stat1")).all())
    assert seen == ["node"]
