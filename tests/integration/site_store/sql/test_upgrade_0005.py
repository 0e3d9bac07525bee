"""A database of schema 0005 gets its versions: nothing becomes dirty, nothing is lost, and the triggers are there."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, inspect, text

import site_store
from design_rendering.changes.digests import node_digests
from design_rendering.changes.objects import ObjectKey
from design_rendering.documents import load_documents
from design_rendering.kinds.drydock_nodes import nodes_from_documents
from site_store import SiteStore
from site_store.sql.address import resolve
from site_store.sql.database import Database, create_sqlite_file
from strategy_lib.phase import Phase

MOMENT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
HELD = "01RUNNING"
#: Per node what is stored of it, how it stood, and the versions that it has then: wanted, done, of its error.
NODES: dict[str, tuple[dict[str, Any], str, tuple[int | None, int | None, int | None]]] = {
    "as-wanted": ({"wanted": (1, "a"), "done": (3, "a"), "status": "success"}, "success", (1, 1, None)),
    "changed": ({"wanted": (2, "b"), "done": (1, "a"), "status": "success"}, "pending", (2, 1, None)),
    "never-done": ({"wanted": (1, "a")}, "pending", (1, None, None)),
    "failed": ({"wanted": (1, "a"), "status": "error", "about": 2}, "error", (1, None, 1)),
    "failed-before": ({"wanted": (3, "c"), "status": "error", "about": 2}, "pending", (1, None, 0)),
    "left-the-design": ({"done": (1, "a"), "status": "success"}, "pending", (1, 1, None)),
    "only-listed": ({}, "deleted", (None, None, None)),
}

DESIGN = """
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {host_profile: base, metadata: {owner_data: {role: %s}}}
---
schema: drydock/HostProfile/v1
metadata: {name: base}
data: {primary_network: pxe}
---
schema: drydock/Network/v1
metadata: {name: pxe}
data: {vlan: '%s'}
---
schema: drydock/BootAction/v1
metadata: {name: motd}
data: {assets: [{path: /etc/motd, data: %s}]}
"""
#: Digests as schema 0005 had them of such a design: they left boot actions out.
VLAN_70 = "2:805ff81819805034e220b2562479b837ec11366bc0ea429d09e844354a04c9ff:"
VLAN_71 = "2:a7255585df79f7e1c32b2864bf1bef52fbdd2caa10c78664d2b89ff7e5141842:"
ROLE_A = "b64258be0c958fd4c05c940438d17fc6bd4d3d9cc3f7bd106ef4e195bbe31c0a"
ROLE_B = "abd3b5fcb375efdab0a46643f02ce2db06e61985df2b509759efa0aef0c1e4c6"
FIRST, OTHER_MOTD, OTHER_VLAN, OTHER_ROLE = (
    DESIGN % parts for parts in (("a", "70", "hi"), ("a", "70", "bye"), ("a", "71", "bye"), ("b", "70", "hi"))
)
#: Per site its two designs, the digests that were wanted and done in revision 1, and the designs that they are of.
SITES = {
    "unseen-change": (FIRST, OTHER_MOTD, VLAN_70 + ROLE_A, VLAN_70 + ROLE_A, OTHER_MOTD, OTHER_MOTD),
    "changed": (FIRST, OTHER_VLAN, VLAN_71 + ROLE_A, VLAN_70 + ROLE_A, OTHER_VLAN, FIRST),
    "relabelled": (FIRST, OTHER_ROLE, VLAN_70 + ROLE_B, VLAN_70 + ROLE_B, OTHER_ROLE, OTHER_ROLE),
    "relabelled-before": (FIRST, OTHER_VLAN, VLAN_71 + ROLE_A, VLAN_70 + ROLE_B, OTHER_VLAN, OTHER_ROLE),
}


def _digest(design: str) -> str:
    documents = load_documents(design)
    return node_digests(documents, nodes_from_documents(documents))["n1"]


def _fill_designs(tx: Connection, tables: Any, at: datetime) -> None:
    """Write two revisions of each site, and a node that was done in the first."""
    content = tables["content"]
    for site, (first, second, wanted, done, _wanted, _done) in SITES.items():
        tx.execute(tables["site"].insert().values(name=site, created=at))
        for number, design in enumerate((first, second), 1):
            kept = content.insert().values(site=site, digest=str(number), text=zlib.compress(design.encode(), 1))
            made = tx.scalars(kept.returning(content.c.id)).one()
            facts = {"digest": "x", "design_token": f"{site} {number}", "created": at, "created_by": "ann"}
            revision = {"site": site, "number": number, "design_id": made, "forced": False, "problems": []}
            tx.execute(tables["revision"].insert().values(**revision, **facts))
        facts = {"kind": "deploy_site", "site": site, "parameters": {}, "dag_id": "deploy_site", "created_by": "ann"}
        action = {"run_id": f"run {site}", "created": at, "state": "success", "revision": 1, "ended": at}
        tx.execute(tables["action"].insert().values(id=f"02{site}"[:26], **facts, **action))
        task = {"node": "n1", "phase": "deploy", "status": "success", "digest": VLAN_70 + ROLE_A}
        tx.execute(tables["task"].insert().values(action_id=f"02{site}"[:26], **task))
        node = {"wanted_revision": 2, "wanted_digest": wanted, "done_revision": 1, "done_digest": done}
        tx.execute(tables["node"].insert().values(site=site, name="n1", status="success", **node))


def _upgraded_to(tx: Connection, schema: str) -> MetaData:
    directory = Path(site_store.__file__).parent
    config = Config(str(directory / "alembic.ini"))
    config.set_main_option("script_location", str(directory / "migrations"))
    config.attributes["connection"] = tx
    command.upgrade(config, schema)
    metadata = MetaData()
    metadata.reflect(tx)
    return metadata


def _fill(tx: Connection) -> list[str]:
    """Write what the version with schema 0005 wrote, with nodes of every kind; return the triggers."""
    metadata = _upgraded_to(tx, "0005")
    tables = metadata.tables
    at = MOMENT.replace(tzinfo=None) if tx.dialect.name == "sqlite" else MOMENT
    tx.execute(tables["site"].insert().values(name="north", created=at))
    facts: dict[str, Any] = {
        "kind": "deploy_site",
        "site": "north",
        "parameters": {},
        "dag_id": "deploy_site",
        "created_by": "ann",
    }
    facts |= {"run_id": "run", "created": at, "started": at, "state": "running", "revision": 1}
    tx.execute(tables["action"].insert().values(id=HELD, **facts))
    tx.execute(tables["site_lock"].insert().values(site="north", action_id=HELD, dag_id="x", run_id="run", acquired=at))
    definition = {"name": "g", "critical": True, "depends_on": [], "selectors": []}
    group: dict[str, Any] = {
        "state": "running",
        "attempt": 1,
        "attempt_key": "0",
        "criteria": [],
        "counts": {},
        "started": at,
    }
    facts = {"action_id": HELD, "name": "g", "position": 0, "critical": True, "definition": definition}
    tx.execute(tables["group_run"].insert().values(**facts, **group))
    operation = tables["operation"]
    begun = {"action_id": HELD, "site": "north", "attempt": 1, "nodes": ["changed"], "design_ref": "x", "created": at}
    for number, phase in enumerate(("prepare", "deploy", "prepare_site"), 1):
        of_group = None if phase == "prepare_site" else "g"
        tx.execute(
            operation.insert().values(
                **begun, group_name=of_group, phase=phase, reference=f"r{number}", status="complete", over=at, ended=at
            )
        )
    # A number that was given, and must not be given again.
    tx.execute(operation.delete().where(operation.c.phase == "prepare_site"))
    for node in ("as-wanted", "changed"):
        tx.execute(tables["group_node"].insert().values(action_id=HELD, group_name="g", node=node))
        for phase, digest in (("prepare", None), ("deploy", "a")):
            task = {"node": node, "phase": phase, "status": "pending", "digest": digest}
            tx.execute(tables["task"].insert().values(action_id=HELD, **task))
    for name, (stored, _standing, _versions) in NODES.items():
        values: dict[str, Any] = {"site": "north", "name": name, "status": stored.get("status")}
        for wish in ("wanted", "done"):
            values |= dict(zip((f"{wish}_revision", f"{wish}_digest"), stored.get(wish, (None, None)), strict=True))
        if "about" in stored:
            values |= {"error": "it broke", "error_revision": stored["about"]}
        tx.execute(tables["node"].insert().values(**values))
    _fill_designs(tx, tables, at)
    return _triggers(tx)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    """Return the engine, for all tests here at once: making such a database takes long."""
    return str(request.param)


@pytest.fixture(scope="module")
def upgraded(
    engine: str, tmp_path_factory: pytest.TempPathFactory, new_empty_url: Callable[[str, Path], str]
) -> Iterator[SiteStore]:
    """A store of schema 0005 that was upgraded; no test changes what another looks at."""
    empty_url = new_empty_url(engine, tmp_path_factory.mktemp("schema-0005"))
    database = Database(resolve(empty_url))
    create_sqlite_file(database.url)
    try:
        before = database.write(_fill)
        assert "from schema 0005" in SiteStore.upgrade(empty_url)
        assert set(before) <= set(database.read(_triggers)), "every trigger that there was is there"
    finally:
        database.close()
    with SiteStore.open(empty_url) as store:
        yield store


def _triggers(tx: Connection) -> list[str]:
    query = "SELECT DISTINCT trigger_name FROM information_schema.triggers WHERE trigger_schema = 'public'"
    if tx.dialect.name == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    return sorted(tx.scalars(text(query)))


def test_every_node_stands_as_before_and_has_its_versions(upgraded: SiteStore) -> None:
    found = {one.name: one for one in upgraded.nodes.of_site("north")}
    assert {name: one.standing for name, one in found.items()} == {name: facts[1] for name, facts in NODES.items()}
    assert {name: (one.wanted_version, one.done_version, one.error_version) for name, one in found.items()} == {
        name: facts[2] for name, facts in NODES.items()
    }
    assert {(one.touched, one.failures, one.next_try, one.version) for one in found.values()} == {(None, 0, None, 1)}
    assert [group.map_index for group in upgraded.groups.standings(HELD)] == [0]
    assert upgraded.counts.verify().compared > 0
    assert upgraded.counts.verify().differences == ()


def test_rule_38_an_upgrade_makes_no_node_dirty(upgraded: SiteStore) -> None:
    """The digests are computed anew: also where boot actions had changed unseen, and what is dirty stays so."""
    for site, (_first, _second, wanted, done, wanted_design, done_design) in SITES.items():
        (node,) = upgraded.nodes.of_site(site)
        assert (node.wanted_digest, node.done_digest) == (_digest(wanted_design), _digest(done_design)), site
        assert node.is_up_to_date is (wanted == done)
        assert (node.digest_version, node.standing) == (3, "success" if wanted == done else "pending")
        kinds = {str(one.key): (one.version, one.policed) for one in upgraded.objects.of_site(site)}
        assert kinds == dict.fromkeys(("boot_action/motd", "host_profile/base", "network/pxe", "node/n1"), (1, None))
        used = upgraded.objects.used_by(site, ObjectKey("network", "pxe"), "node")
        assert used == [ObjectKey("node", "n1")]

    def planned(tx: Connection) -> list[tuple[Any, ...]]:
        query = text("SELECT action_id, digest FROM task WHERE action_id LIKE '02%' ORDER BY action_id")
        return [tuple(row) for row in tx.execute(query)]

    assert upgraded._database.read(planned) == [(f"02{site}"[:26], _digest(FIRST)) for site in sorted(SITES)]


def test_what_is_under_way_knows_its_version_and_goes_on(upgraded: SiteStore) -> None:
    """Operations keep their numbers, and one of each round can be begun."""

    def planned(tx: Connection) -> list[tuple[Any, ...]]:
        query = text(
            "SELECT node, phase, wanted_version, tries FROM task WHERE action_id LIKE '01%' ORDER BY node, phase"
        )
        return [tuple(row) for row in tx.execute(query)]

    assert upgraded._database.read(planned) == [
        ("as-wanted", "deploy", 1, 1),
        ("as-wanted", "prepare", 1, 1),
        ("changed", "deploy", 1, 1),
        ("changed", "prepare", 2, 1),
    ]
    assert [one.op for one in upgraded.operations.of_action(HELD)] == [1, 2]
    begun = upgraded.operations.begin(HELD, "north", None, 1, Phase.VERIFY_SITE, [], "x")
    assert begun.op > 3, "a number is never given twice"

    def partial_indexes(tx: Connection) -> set[str]:
        return {str(index["name"]) for index in inspect(tx).get_indexes("operation")}

    expected = {"ix_operation_without_group", "ix_operation_not_over"}
    assert expected <= upgraded._database.read(partial_indexes)
