"""The schema: made by migrations alone, and never used when it is not this version's."""

from __future__ import annotations

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from click.testing import CliRunner
from sqlalchemy import Connection, text

from site_store import NewAction, NewPlan, PlannedGroup, SchemaNotCurrent, SiteStore
from site_store.__main__ import main
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.sql.fence import CURRENT
from site_store.sql.schema_version import VERSION_TABLE
from site_store.tables import metadata
from strategy_lib.strategy import Group
from tests.support.stores import upgrade_fails_at


def test_models_and_migrations_agree(url: str) -> None:
    def differences(tx: Connection) -> list[object]:
        options = {"compare_type": True, "version_table": VERSION_TABLE}
        return list(compare_metadata(MigrationContext.configure(tx, opts=options), metadata))

    database = Database(resolve(url))
    assert database.read(differences) == []
    database.close()


def test_upgrade_of_nothing_and_again(empty_url: str) -> None:
    with pytest.raises(SchemaNotCurrent, match="slipway store upgrade"):
        SiteStore.open(empty_url)
    assert f"upgraded from nothing to schema {CURRENT}" in SiteStore.upgrade(empty_url)
    assert f"schema {CURRENT} is current" in SiteStore.upgrade(empty_url)
    with SiteStore.open(empty_url) as store:
        assert store.sites.committed() == []


def test_upgrade_by_several_at_once(empty_url: str) -> None:
    gate = threading.Barrier(4)
    said: list[str] = []

    def upgrade() -> None:
        gate.wait()
        said.append(SiteStore.upgrade(empty_url))

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted("upgraded" in line for line in said) == [False, False, False, True]


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        ("0016", "before its first release.* use another SLIPWAY_HOME or SLIPWAY_DATABASE_URL"),
        ("9999", "newer than this Slipway's .*: update Slipway"),
    ],
)
def test_another_schema_is_refused(empty_url: str, found: str, advice: str) -> None:
    SiteStore.upgrade(empty_url)
    database = Database(resolve(empty_url))
    newer = f"UPDATE {VERSION_TABLE} SET version_num = '{found}'; UPDATE store_state SET writes_from = '{found}'"
    database.write(lambda tx: tx.execute(text(newer)))
    database.close()
    with pytest.raises(SchemaNotCurrent, match=advice) as caught:
        SiteStore.open(empty_url)
    assert found in str(caught.value)
    with pytest.raises(SchemaNotCurrent, match=advice):
        SiteStore.upgrade(empty_url)


def test_a_failed_upgrade_leaves_nothing_behind(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade_fails_at("get_bind", empty_url, monkeypatch)
    with pytest.raises(SchemaNotCurrent, match="no tables"):
        SiteStore.open(empty_url)
    assert "upgraded from nothing" in SiteStore.upgrade(empty_url)


def test_command_line(empty_url: str) -> None:
    url, run = empty_url, CliRunner().invoke
    refused = run(main, ["prune", "--url", url])
    assert (refused.exit_code, "slipway store upgrade" in refused.output) == (1, True)
    assert f"to schema {CURRENT}" in run(main, ["upgrade", "--url", url]).output
    assert "0 events older than 90 days deleted" in run(main, ["prune", "--url", url]).output
    assert run(main, ["upgrade", "--url", "mysql://x"]).exit_code == 1


def test_the_command_to_verify_names_what_is_wrong_and_counts_it_anew(url: str) -> None:
    run = CliRunner().invoke
    assert "0 counts compared, all are right" in run(main, ["verify", "--url", url]).output
    with SiteStore.open(url) as store:
        action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "north", None, {}, "ann"))
        groups = [PlannedGroup(Group("a", critical=True), ("n1",))]
        store.groups.save_plan(action.id, NewPlan(groups, [], {}))
        wrong = text("UPDATE status_count SET records = 5 WHERE group_name = 'a' AND phase = 'deploy'")
        store._database.write(lambda tx: tx.execute(wrong))
    found = run(main, ["verify", "--url", url])
    assert found.exit_code == 1
    assert f"action {action.id}, group a: deploy pending of provisioner:slipway_provisioner" in found.output
    assert "the roll-up says 5, there are 1" in found.output
    assert "1 of 4 counts are wrong; `slipway store verify --repair` counts anew" in found.output
    mended = run(main, ["verify", "--url", url, "--repair"])
    assert (mended.exit_code, "counted anew: 4 counts" in mended.output) == (0, True)
    assert "4 counts compared, all are right" in run(main, ["verify", "--url", url]).output
