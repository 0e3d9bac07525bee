"""What the database computes of a node, its standing and what it serves, is what the domain says of the same facts."""

from __future__ import annotations

from itertools import product

from sqlalchemy import Connection, insert, select

from site_store import SiteStore
from site_store.tables import node
from strategy_lib.status.leaf import SiteNode, status_in_site
from strategy_lib.status.serves import serves_of

SITE = "north"
WANTED = (None, "a", "b")
DONE = (None, "a")
STATUSES = (None, "processing", "success", "error", "drifted", "powered on", "deleted")
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
    found = {record.name: record.standing for record in store.nodes.of_site(SITE)}
    query = select(node.c.name, node.c.serves).where(node.c.site == SITE)
    served = store._database.read(lambda tx: {row.name: row.serves for row in tx.execute(query)})
    for number, (wanted, done, status, about, doubt, (touched, done_version, error_version)) in enumerate(cases):
        known = done is not None and (doubt is None or wanted is None)
        facts = SiteNode(
            in_design=wanted is not None,
            wanted=(2, wanted) if wanted else None,
            done=(1, done) if known and done else None,
            failed="it broke" if status == "error" else None,
            failed_revision=about,
            wanted_version=3,
            touched=touched,
            done_version=done_version,
            failed_version=error_version,
            drifted="it broke" if status == "drifted" else None,
            at_work=status in ("processing", "powered on"),
        )
        assert found[str(number)] == status_in_site(facts).status, cases[number]
        expected = serves_of(wanted, done, in_doubt=doubt is not None, drifted=status in STORED)
        assert served[str(number)] == expected, cases[number]


def test_a_status_that_nobody_knows_is_undefined(store: SiteStore) -> None:
    store._database.write(
        lambda tx: tx.execute(insert(node).values(site=SITE, name="n1", status="mended", wanted_digest="a"))
    )
    assert [record.standing for record in store.nodes.of_site(SITE)] == ["undefined"]
