"""Which nodes are dirty (rule 37), in all combinations of what is stored: a plan is what the domain says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from sqlalchemy import Connection, text

from design_rendering.kinds.objects import VERSION
from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_engine.plans.site_plans import plan_site
from site_store import SiteStore
from strategy_lib import plan_update
from strategy_lib.goals.update import Change
from strategy_lib.node_condition import NodeCondition

SITE = "north"
WANTED, SAME, OTHER = f"{VERSION}:disks:blue", f"{VERSION}:disks:blue", f"{VERSION}:raid:blue"
RELABELLED = f"{VERSION}:disks:red"
OLDER_DIGEST = "0:unknown"
STATUSES = (None, "processing", "success", "error", "deleted")
CONDITIONS = (None, NodeCondition.DEPLOYED, NodeCondition.READY, NodeCondition.FAILED_DEPLOYMENT)
WANTED_VERSION = 4


@dataclass(frozen=True)
class Row:
    """A node as it is stored."""

    wanted: str | None
    done: str | None
    done_version: int | None
    status: str | None
    error_revision: int | None
    error_version: int | None
    error_action: str | None
    doubt: str | None
    touched: int | None
    condition: NodeCondition | None

    @property
    def failed(self) -> bool:
        """Whether it has drifted, or its newest operation failed and nothing newer is wanted of it since."""
        if self.status == "error" and self.error_action is None:
            return True
        if self.error_version is not None:
            older = self.error_version < WANTED_VERSION
        else:
            older = self.error_revision is not None and self.error_revision < 2
        return self.status == "error" and not older

    @property
    def is_stored(self) -> bool:
        """Whether the columns can stand together: what is done names its version, unless it is of before there were."""
        return self.done is not None or (self.done_version is None and self.doubt is None)


def rows() -> Iterator[Row]:
    """Yield all combinations."""
    for wanted, done, version, status in product(
        (WANTED, None), (None, SAME, OTHER, RELABELLED, OLDER_DIGEST), (None, 1, WANTED_VERSION), STATUSES
    ):
        failures = (
            product((None, 1, 2), (None, 1, WANTED_VERSION), (None, "01ACTION"))
            if status == "error"
            else ((None, None, None),)
        )
        for (about, at, by), doubt, touched, condition in product(
            failures, (None, "who knows"), (None, 1, 3, WANTED_VERSION), CONDITIONS
        ):
            row = Row(wanted, done, version, status, about, at, by, doubt, touched, condition)
            if row.is_stored:
                yield row


ROWS = tuple(rows())


@pytest.fixture
def filled(store: SiteStore) -> SiteStore:
    """Store a node of each combination, and a list of the provisioner's."""
    values = [
        {
            "site": SITE,
            "name": str(number),
            "wanted_digest": row.wanted,
            "wanted_revision": 2 if row.wanted else None,
            "wanted_version": WANTED_VERSION,
            "done_digest": row.done,
            "done_revision": 1 if row.done else None,
            "done_version": row.done_version,
            "status": row.status,
            "error": "it broke" if row.status == "error" else None,
            "error_revision": row.error_revision,
            "error_version": row.error_version,
            "error_action": row.error_action,
            "doubt": row.doubt,
            "touched": row.touched,
        }
        for number, row in enumerate(ROWS)
    ]

    def work(tx: Connection) -> None:
        # In one statement: after each, triggers count what it has changed.
        columns = ", ".join(values[0])
        rows = f"SELECT {columns} FROM json_populate_recordset(NULL::node, :rows)"
        tx.execute(text(f"INSERT INTO node ({columns}) {rows}"), {"rows": json.dumps(values)})

    store._database.write(work)
    listed = {str(number): row.condition for number, row in enumerate(ROWS) if row.condition is not None}
    keep_list(store, SITE, "drydock", {name: ListedNode(name, how, str(how), "on") for name, how in listed.items()})
    return store


@pytest.mark.endurance
def test_rule_37_the_plan_of_a_site_is_what_the_domain_says_of_the_same_facts(filled: SiteStore) -> None:
    plan = plan_site(filled, SITE, explained=0)
    found = {name: each.difference.change for name, each in plan.nodes.items()} | dict.fromkeys(
        plan.unchanged, Change.NONE
    )
    wanted, done, conditions = {}, {}, {}
    for number, row in enumerate(ROWS):
        name = str(number)
        if row.wanted is not None:
            asked = {"touched": row.touched} if row.touched is not None else {}
            wanted[name] = {"version": WANTED_VERSION, "digest": row.wanted, **asked}
        if row.done is not None:
            # In doubt is not as it was left: what was done is not believed.
            done[name] = {
                "version": row.done_version,
                "digest": row.done,
                "failed": row.failed or row.doubt is not None,
            }
        if row.condition is not None:
            conditions[name] = str(row.condition)
    said = plan_update(wanted, done, conditions)["actions"]
    expected = {name: Change(one) for name, one in said.items()}
    for name, one in expected.items():
        row = ROWS[int(name)]
        # What can be changed in place is no change to plain data, which does not know of labels. In place is not
        # enough for who asked for the node again since.
        labels = row.done == RELABELLED and row.doubt is None and row.condition is NodeCondition.DEPLOYED
        since = row.touched is not None and (row.done_version is None or row.touched > row.done_version)
        if one is Change.CHANGE and labels and not since:
            expected[name] = Change.RELABEL
    for word in Change:
        assert {name for name, one in expected.items() if one is word}, f"the table has a row for {word}"
        assert {ROWS[int(name)] for name, one in found.items() if one is word} == {
            ROWS[int(name)] for name, one in expected.items() if one is word
        }
    # A row that says nothing is neither wanted nor done.
    silent = {str(number) for number, row in enumerate(ROWS) if row.wanted is None and row.done is None}
    assert len(silent) > 0
    assert silent.isdisjoint(found)
