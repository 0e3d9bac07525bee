"""What tests of trees read in them, and what they write to the store behind its back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, insert, update

from site_engine.trees.status_trees import action_tree, site_tree, tree_to_dict
from site_store import ActionRecord, Claim, NewAction, OperationStatus
from site_store.tables import revision, site_group, site_group_node, task
from site_store.tables import site as site_table
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, Scenario, outcome, want

AIRFLOW, PROVISIONER = "airflow:deploy_site", "provisioner:drydock"


def child(entry: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return the entry that a path of names leads to."""
    for name in path:
        entry = next(one for one in entry["children"] if one["name"] == name)
    return entry


def tree(site: Scenario, action: ActionRecord) -> dict[str, Any]:
    """Return the whole tree of an action, checked by its schema."""
    root: dict[str, Any] = tree_to_dict(action_tree(site.store, action.id, depth=None))["root"]
    assert check_data("status_tree", root) == []
    return root


def standing(site: Scenario) -> dict[str, Any]:
    """Return the whole standing tree of the site, checked by its schema."""
    root: dict[str, Any] = tree_to_dict(site_tree(site.store, SITE, depth=None))["root"]
    assert check_data("status_tree", root) == []
    return root


def group(root: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the entry of a group of an action."""
    return child(root, "deploy_group", name)


def commit(site: Scenario, number: int, digests: dict[str, str], **groups: Collection[str]) -> None:
    """Commit a revision that wants these nodes in these groups."""
    values = {"site": SITE, "number": number, "digest": "d", "design_token": f"t{number}", "created_by": "ann"}

    def work(tx: Connection) -> None:
        if number == 1:
            tx.execute(insert(site_table).values(name=SITE, created=site.clock.time))
        tx.execute(insert(revision).values(**values, created=site.clock.time))
        for position, (name, members) in enumerate(groups.items()):
            facts = {"site": SITE, "name": name, "position": position, "critical": True}
            tx.execute(insert(site_group).values(**facts, depends_on=[], definition={}))
            for member in members:
                tx.execute(insert(site_group_node).values(site=SITE, group_name=name, node=member))

    site.store._database.write(work)
    want(site.store, number, digests)


def change(site: Scenario, table: Any, where: Any, **values: Any) -> None:
    """Write to the store what no caller of it ever would."""
    site.store._database.write(lambda tx: tx.execute(update(table).where(where).values(**values)))


def owned(site: Scenario, action: ActionRecord) -> None:
    """Have the action's provisioner and its owners known."""
    site.store.actions.decide_connection(action.id, "drydock")
    change(site, task, task.c.action_id == action.id, owner=PROVISIONER)


def destroying(site: Scenario, *, done: bool = True) -> ActionRecord:
    """An action that has destroyed one of its nodes, and not the other; or, if not `done`, is still at both."""
    store = site.store
    targets = {"target_nodes": ["n1", "n2"]}
    action = store.actions.ensure(
        "destroy_nodes", "destroy", NewAction("destroy_nodes", SITE, 1, targets, "ann", whole_site=False)
    )
    store.locks.acquire(action.id)
    store.actions.decide_connection(action.id, "drydock")
    store.steps.begin(action.id, "destroy_nodes", 1)
    begun = store.operations.begin(Claim(action.id, SITE, None, 1, Phase.DESTROY, ["n1", "n2"], "file:///design", None))
    site.submit(begun)
    if done:
        came = outcome(["n1"], ["n2"], notes={"n2": "disk is locked"})
        store.operations.record_outcome(begun.op, came, status=OperationStatus.COMPLETE, result="failure")
    return action
