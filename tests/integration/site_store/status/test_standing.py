"""What the database computes of a node, its standing and what it serves, is what the domain says of the same facts."""

from __future__ import annotations

from itertools import product

from sqlalchemy import Connection, Integer, insert, literal, select

from site_store import SiteStore
from site_store.tables import is_of_wanted, node
from strategy_lib.status.leaf import status_in_site
from strategy_lib.status.node_row import is_superseded
from strategy_lib.status.serves import serves_of

SITE = "north"
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
