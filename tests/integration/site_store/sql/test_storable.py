"""Names come from documents, and may be anything that the tables can index."""

from __future__ import annotations

import random
import string

import pytest

from site_store import LONGEST_NAME, NewPlan, NewRevision, PlannedGroup, SiteStore, ValueRefused
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, Scenario, want


def name_of(size: int) -> str:
    """A name that no database can make shorter."""
    return "".join(random.Random(size).choices(string.ascii_letters + string.digits, k=size))


def test_the_longest_names_fit_together(site: Scenario) -> None:
    # As bytes a group's name can be as long as any: 250 characters, of four bytes each.
    group, node = "\U0001f5a5" * 250, name_of(LONGEST_NAME)
    assert len(group.encode()) == LONGEST_NAME
    action = site.running({group: [node]}, digests={node: "d"})
    want(site.store, 1, {node: "d"})
    assert site.store.groups.get(action.id, group).nodes == (node,)
    assert site.states(action) == {node: "not_started"}
    assert [(one.groups[0][0]) for one in site.store.actions.newest()] == [group]


@pytest.mark.parametrize("name", [name_of(LONGEST_NAME + 1), "a\0b"], ids=["long", "nul"])
def test_a_longer_one_is_refused_before_anything_is_written(site: Scenario, name: str) -> None:
    action = site.action()
    for group, nodes, other in ((name, ["n1"], []), ("g", [name], []), ("g", ["n1"], [name])):
        with pytest.raises(ValueRefused, match=name[:40].replace("\0", ".*")):
            site.store.groups.save_plan(
                action.id, NewPlan([PlannedGroup(Group(group, True), tuple(nodes))], [], {}, other)
            )
    with pytest.raises(ValueRefused):
        site.store.revisions.commit(NewRevision(SITE, {"a": "x"}, [], "x", "ann", digests={name: "d"}))
    assert site.store.groups.of_action(action.id) == []
    assert site.store.nodes.of_site(SITE) == []


def test_what_cannot_be_indexed_is_not_taken_for_trouble_that_passes(store: SiteStore) -> None:
    with pytest.raises(ValueRefused, match="refused what it was given"):
        store.nodes.record_conditions(SITE, {name_of(20_000): "deployed"})
