"""A database of schema 0003, with work in every state, is brought up to date and goes on where it stood."""

from __future__ import annotations

import hashlib
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, func, select

import site_store
from design_rendering.changes.digests import node_digests
from design_rendering.documents import load_documents
from design_rendering.kinds.drydock_nodes import nodes_from_documents
from site_store import ActionState, OperationStatus, SiteStore, StepState, Version
from site_store.sql.address import resolve
from site_store.sql.database import Database, create_sqlite_file
from site_store.sql.schema_version import VERSION_TABLE
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import outcome

MOMENT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
TEXT = "a: 1\n"


def _action_id(state: ActionState) -> str:
    """Return the id of the action in a state: an id as any other, by its length and its time."""
    return f"01KAGQ0000{list(ActionState).index(state):016}"


HELD = _action_id(ActionState.RUNNING)
#: Phase and group of an operation in each status; all are of the action that runs.
OPERATIONS = {
    OperationStatus.INTENDED: ("prepare", "a"),
    OperationStatus.SUBMITTED: ("prepare", "b"),
    OperationStatus.COMPLETE: ("verify_site", None),
    OperationStatus.TIMED_OUT: ("deploy", "c"),
    OperationStatus.ABANDONED: ("deploy", "d"),
}


def _fill(tx: Connection) -> None:
    """Write what the version with schema 0003 wrote, in that schema."""
    directory = Path(site_store.__file__).parent
    config = Config(str(directory / "alembic.ini"))
    config.set_main_option("script_location", str(directory / "migrations"))
    config.attributes["connection"] = tx
    command.upgrade(config, "0003")
    metadata = MetaData()
    metadata.reflect(tx)
    at = MOMENT.replace(tzinfo=None) if tx.dialect.name == "sqlite" else MOMENT

    def add(table: str, **values: Any) -> None:
        tx.execute(metadata.tables[table].insert().values(values))

    add("site", name="north", created=at)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    content = metadata.tables["content"]
    kept = content.insert().values(site="north", digest=digest, documents=0, text=zlib.compress(TEXT.encode(), 1))
    number = tx.scalars(kept.returning(content.c.id)).one()
    facts = {"digest": digest, "design_token": "token", "created": at, "created_by": "ann", "problems": []}
    made = metadata.tables["revision"].insert().values(site="north", number=1, design_id=number, forced=False, **facts)
    revision = tx.scalars(made.returning(metadata.tables["revision"].c.id)).one()
    add("revision_collection", revision_id=revision, name="design", content_id=number)
    add("buffer", site="north", version=3, changed=at, changed_by="bob")
    add("buffer_collection", site="north", name="more", content_id=number)
    for state in ActionState:
        add(
            "action",
            id=_action_id(state),
            kind="deploy_site",
            site="north",
            revision=1,
            parameters={},
            dag_id="deploy_site",
            run_id=f"run {state}",
            created_by="ann",
            created=at,
            started=None if state is ActionState.PENDING else at,
            ended=at if state.is_end else None,
            state=state,
            dry_run=False,
            targeted=False,
            step="deploy_group",
            design_fetch=0,
        )
    add("site_lock", site="north", action_id=HELD, dag_id="deploy_site", run_id="run running", acquired=at)
    for position, group in enumerate("abcd"):
        definition = {"name": group, "critical": True, "depends_on": [], "selectors": []}
        facts = {"state": "running", "attempt": 1, "attempt_key": "0", "criteria": [], "counts": {}, "started": at}
        add("group_run", action_id=HELD, name=group, position=position, critical=True, definition=definition, **facts)
        add("group_node", action_id=HELD, group_name=group, node=group)
    for status, (phase, its_group) in OPERATIONS.items():
        nodes = [its_group] if its_group else []
        sent = status is not OperationStatus.INTENDED
        add(
            "operation",
            action_id=HELD,
            site="north",
            group_name=its_group or "",
            attempt=1,
            phase=phase,
            reference=f"slipway-{HELD}-{status}",
            nodes=nodes,
            design_ref="x",
            provisioner_task=f"task-{status}" if sent else None,
            lease_owner="worker",
            lease_until=at + timedelta(seconds=30),
            created=at,
            sending=at if sent else None,
            submitted=at if sent else None,
            status=status,
            over=at if status is OperationStatus.COMPLETE else None,
            ended=at if status not in (OperationStatus.INTENDED, OperationStatus.SUBMITTED) else None,
        )
    for group in "abcd":
        add("task", action_id=HELD, node=group, phase="prepare", status="pending", owner_group=group)
        add("task", action_id=HELD, node=group, phase="deploy", status="pending", owner_group=group)
    operation = metadata.tables["operation"]
    submitted = tx.scalars(
        operation.select().with_only_columns(operation.c.op).where(operation.c.group_name == "b")
    ).one()
    task = metadata.tables["task"]
    at_work = task.update().where(task.c.node == "b", task.c.phase == "prepare")
    tx.execute(at_work.values(status="processing", op=submitted))
    add("node", site="north", name="b", op=submitted)
    add("action_report", action_id=_action_id(ActionState.SUCCESS), report={"verdict": "success"})
    add("action_audit", id="01AUDIT", action_id=HELD, command="invoke", created_by="ann", at=at)
    # A number that was given, and must not be given again.
    newest = tx.scalars(operation.select().with_only_columns(operation.c.op).order_by(operation.c.op.desc())).first()
    facts = {"site": "north", "group_name": "", "attempt": 9, "nodes": [], "design_ref": "x", "created": at}
    add("operation", action_id=HELD, phase="prepare_site", status="intended", **facts)
    tx.execute(operation.delete().where(operation.c.op > newest))


DESIGN = """
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {rack: %s}
---
schema: drydock/BaremetalNode/v1
metadata: {name: %s}
data: {}
"""


def _fill_wishes(tx: Connection) -> None:
    """Write, in schema 0003, what was wanted of nodes, and a step on nodes that was not marked as such."""
    metadata = MetaData()
    metadata.reflect(tx)
    content, revision, node, action = (metadata.tables[name] for name in ("content", "revision", "node", "action"))
    at = MOMENT.replace(tzinfo=None) if tx.dialect.name == "sqlite" else MOMENT
    designs = {("south", 1): DESIGN % ("r1", "n2"), ("south", 2): DESIGN % ("r2", "n3"), ("west", 1): None}
    for (site, number), text in designs.items():
        if number == 1:
            tx.execute(metadata.tables["site"].insert().values(name=site, created=at))
        kept = None
        if text is not None:
            stored = content.insert().values(
                site=site, digest=str(number), documents=2, text=zlib.compress(text.encode(), 1)
            )
            kept = tx.scalars(stored.returning(content.c.id)).one()
        facts = {"digest": "x", "design_token": f"{site} {number}", "created": at, "created_by": "ann", "problems": []}
        tx.execute(revision.insert().values(site=site, number=number, design_id=kept, forced=kept is None, **facts))
    for site, name in (("south", "n1"), ("south", "n2"), ("west", "w1")):
        tx.execute(node.insert().values(site=site, name=name, wanted_revision=1, wanted_digest="planned"))
    tx.execute(node.insert().values(site="south", name="gone"))
    for number, kind in enumerate(("deploy_site", "relabel_nodes"), 1):
        facts = {"parameters": {}, "dag_id": kind, "run_id": f"run {number}", "created_by": "ann", "state": "success"}
        facts |= {"dry_run": False, "targeted": False, "design_fetch": 0, "created": at, "started": at, "ended": at}
        tx.execute(action.insert().values(id=f"02{number}", kind=kind, site="south", revision=number, **facts))


def test_what_is_wanted_and_the_versions_are_those_of_commits_and_actions_on_the_whole_site(empty_url: str) -> None:
    database = Database(resolve(empty_url))
    create_sqlite_file(database.url)
    try:
        database.write(_fill)
        database.write(_fill_wishes)
        SiteStore.upgrade(empty_url)
    finally:
        database.close()
    documents = load_documents(DESIGN % ("r2", "n3"))
    digests = node_digests(documents, nodes_from_documents(documents))
    with SiteStore.open(empty_url) as store:
        wanted = {(one.name, one.wanted_revision, one.wanted_digest) for one in store.nodes.of_site("south")}
        assert wanted == {
            ("n1", 2, digests["n1"]),
            ("n2", None, None),
            ("n3", 2, digests["n3"]),
            ("gone", None, None),
        }
        (group,) = store.site_groups.of_site("south")
        assert store.site_groups.nodes("south") == {group.name: ("n1", "n3")}
        assert store.site_groups.of_site("west") == []
        assert {one.standing for one in store.nodes.of_site("south") if one.wanted_digest} == {"pending"}
        assert store.counts.verify().compared > 0
        assert store.counts.verify().differences == ()
        (kept,) = store.nodes.of_site("west")
        assert (kept.wanted_revision, kept.wanted_digest) == (1, "planned"), "its newest design cannot be read"
        assert store.sites.version_number("south", Version.LAST_SITE_ACTION) == 1, "new labels bring no site anywhere"
        assert {one.action.id: one.action.whole_site for one in store.actions.newest("south")} == {
            "021": True,
            "022": False,
        }


def _counts(tx: Connection) -> dict[str, int]:
    """Return how many rows each table has."""
    metadata = MetaData()
    metadata.reflect(tx)
    return {
        name: tx.scalar(select(func.count()).select_from(table)) or 0
        for name, table in metadata.tables.items()
        if name != VERSION_TABLE
    }


def _keys_hold(tx: Connection) -> bool:
    """Whether foreign keys are enforced, and all of them hold; PostgreSQL has no other way."""
    if tx.dialect.name != "sqlite":
        return True
    enforced = tx.exec_driver_sql("PRAGMA foreign_keys").scalar()
    return bool(enforced) and tx.exec_driver_sql("PRAGMA foreign_key_check").first() is None


def test_work_in_every_state_is_read_and_goes_on(empty_url: str) -> None:
    database = Database(resolve(empty_url))
    create_sqlite_file(database.url)
    try:
        database.write(_fill)
        before = database.read(_counts)
        assert "from schema 0003" in SiteStore.upgrade(empty_url)
        assert before.items() <= database.read(_counts).items(), "no table lost its rows when another was rebuilt"
        assert database.read(_keys_hold)
    finally:
        database.close()
    with SiteStore.open(empty_url) as store:
        actions = {listing.action.state: listing for listing in store.actions.newest("north")}
        assert actions.keys() == set(ActionState)
        assert all(listing.steps == {} for listing in actions.values()), "nobody has noted them"
        assert [name for name, _ in actions[ActionState.RUNNING].groups] == ["a", "b", "c", "d"]
        assert (store.revisions.get("north").text, store.buffers.get("north").version) == (TEXT, 3)
        tasks = dict(store.tasks.of_step(HELD, Phase.PREPARE))
        assert {one.owner for one in tasks.values()} == {"provisioner:slipway_provisioner"}
        assert store.counts.verify().compared >= 2 * len(tasks)
        assert store.counts.verify().differences == ()
        assert store.buffers.get("north").posted.keys() == {"more"}
        operations = {operation.status: operation for operation in store.operations.of_action(HELD)}
        assert {status: (one.phase.value, one.group) for status, one in operations.items()} == OPERATIONS
        # Begun before, and begun again by the number of its attempt: it is found although its group was "" then.
        verified = store.operations.begin(HELD, "north", None, 1, Phase.VERIFY_SITE, [], "x")
        assert verified == operations[OperationStatus.COMPLETE]
        new = store.operations.begin(HELD, "north", None, 2, Phase.VERIFY_SITE, [], "x").op
        assert new == max(one.op for one in operations.values()) + 2, "the number of a deleted one is not given again"
        without_run = store.actions.create(
            "deploy_site", "south", 1, {}, "ann", context_marker=None, exclusive=True, has_run=False
        )
        assert without_run.run_id is None
        unfinished = {one.status for one in store.operations.unfinished("north")}
        assert unfinished == {OperationStatus.SUBMITTED, OperationStatus.TIMED_OUT, OperationStatus.ABANDONED}
        # The leases of then have run out: the intent is submitted by the one who asks first.
        assert store.operations.acquire_lease(operations[OperationStatus.INTENDED].op, "new", 30, sending=True)
        # What was deferred comes back with its number, and its result is applied.
        deferred = operations[OperationStatus.SUBMITTED]
        store.operations.record_outcome(deferred.op, outcome(["b"]), status=OperationStatus.COMPLETE, result="success")
        assert store.tasks.node_states(HELD)["b"].value == "prepared"
        owner = store.locks.owner("north")
        assert owner is not None
        assert owner.action_id == HELD
        assert not store.locks.acquire(HELD), "it still runs"
        store.steps.begin(HELD, "deploy_group", 1, "b")
        store.steps.leave(HELD, "deploy_group", 1, StepState.SUCCESS, group="b")
        assert store.actions.close(HELD, ActionState.FAILED, "critical group one failed")
        assert store.locks.owner("north") is None
