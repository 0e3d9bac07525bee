"""Objects of a site: a commit writes what differs, in the transaction of its revision."""

from __future__ import annotations

import pytest

from design_rendering.kinds.objects import DesignObject, ObjectKey
from design_rendering.reading.documents import load_documents
from site_store import CommittedObjects, NewRevision, ObjectChange, SiteStore
from site_store.designs.objects import write_objects
from tests.support.revisions import commit_design

SITE = "north"
DESIGN = """
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {host_profile: gpu}
---
schema: drydock/BaremetalNode/v1
metadata: {name: n2}
data: {host_profile: base}
---
schema: drydock/HostProfile/v1
metadata: {name: gpu}
data: {host_profile: base}
---
schema: drydock/HostProfile/v1
metadata: {name: base}
data: {primary_network: pxe}
---
schema: drydock/Network/v1
metadata: {name: pxe}
data: {vlan: '70'}
"""


def _versions(store: SiteStore) -> dict[str, tuple[int, int]]:
    return {str(one.key): (one.version, one.revision) for one in store.objects.page(SITE, 1000)}


def test_a_commit_raises_the_version_of_what_changed_and_of_nothing_else(store: SiteStore) -> None:
    commit_design(store, SITE, DESIGN)
    assert _versions(store) == dict.fromkeys(
        ("host_profile/base", "host_profile/gpu", "network/pxe", "node/n1", "node/n2"), (1, 1)
    )
    commit_design(store, SITE, DESIGN.replace("vlan: '70'", "vlan: '71'"))
    assert {key: found for key, found in _versions(store).items() if found != (1, 1)} == {"network/pxe": (2, 2)}
    wanted = {one.name: (one.wanted_version, one.wanted_revision) for one in store.nodes.of_site(SITE)}
    assert wanted == {"n1": (2, 2), "n2": (2, 2)}, "both nodes are shaped by it"
    commit_design(
        store, SITE, DESIGN.replace("vlan: '70'", "vlan: '71'").replace("host_profile: gpu", "host_profile: base")
    )
    assert _versions(store)["node/n1"] == (2, 3)
    wanted = {one.name: (one.wanted_version, one.wanted_revision) for one in store.nodes.of_site(SITE)}
    assert wanted == {"n1": (3, 3), "n2": (2, 2)}


def test_an_object_names_what_it_uses_directly(store: SiteStore) -> None:
    commit_design(store, SITE, DESIGN)
    (first, second) = store.objects.page(SITE, 1000, "node")
    assert (first.uses, second.uses) == ((ObjectKey("host_profile", "gpu"),), (ObjectKey("host_profile", "base"),))
    second_text = "metadata: {name: n2}\ndata: {"
    commit_design(store, SITE, DESIGN.replace(f"{second_text}host_profile: base", second_text))
    assert [one.uses for one in store.objects.page(SITE, 1000, "node")] == [first.uses, ()]
    assert [one.key.name for one in store.objects.page(SITE, 1000, "network")] == ["pxe"]
    assert store.objects.page("south", 1000) == []


def test_an_object_may_use_what_no_object_can_be_called(store: SiteStore) -> None:
    commit_design(store, SITE, DESIGN.replace("host_profile: gpu", r'host_profile: "a\0b"'))
    assert store.objects.page(SITE, 1, "node")[0].uses == (ObjectKey("host_profile", "a\0b"),)


@pytest.mark.parametrize("judged", [None, "policies"])
def test_changes_are_named_and_what_judged_an_object_is_kept(store: SiteStore, judged: str | None) -> None:
    first = DesignObject(ObjectKey("node", "a"), "1"), DesignObject(ObjectKey("node", "b"), "1")
    second = DesignObject(ObjectKey("node", "b"), "2"), DesignObject(ObjectKey("rack", "c"), "1")

    def written(revision: int, objects: tuple[DesignObject, ...]) -> list[ObjectChange]:
        by_policy = {ObjectKey("node", "b"): ("default-group",)} if judged else {}
        committed = CommittedObjects(objects, judged, by_policy)
        return store._database.write(lambda tx: write_objects(tx, SITE, revision, committed))

    assert [change.change for change in written(1, first)] == ["added", "added"]
    assert written(2, first) == []
    assert [(str(one.key), one.change, one.version) for one in written(3, second)] == [
        ("node/a", "removed", 1),
        ("node/b", "changed", 2),
        ("rack/c", "added", 1),
    ]
    found = {str(one.key): one for one in store.objects.page(SITE, 1000)}
    assert found["node/b"].policed == ((2, "policies") if judged else None)
    assert found["node/b"].by_policy == (("default-group",) if judged else ())


def test_nodes_of_a_design_that_cannot_be_read_keep_their_objects(store: SiteStore) -> None:
    commit_design(store, SITE, DESIGN)
    before = _versions(store)
    text = "a: 1\n"
    store.revisions.commit(
        NewRevision(SITE, {"design": text}, [("design", one) for one in load_documents("")], text, "ann")
    )
    assert _versions(store) == before
