"""Slipway's own nodes are the wanted state as Drydock's are: groups, order, versions, objects, differences."""

from __future__ import annotations

import pytest

from design_rendering.changes import document_changes, node_changes
from design_rendering.design import read_design
from design_rendering.kinds.health_urls import node_urls
from design_rendering.kinds.nodes import stated_nodes
from design_rendering.kinds.objects import ObjectKey, design_objects, differ_in_labels_alone, parts_of_nodes
from design_rendering.policies import every_node_has_a_group, police
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import render
from strategy_lib.errors import InventoryError, StrategyLibError
from strategy_lib.selectors import resolve
from tests.support.designs import validate
from tests.support.sites import KEY

SITE = """\
schema: slipway/Site/v1
metadata: {name: fra1}
data: {provisioner: maas, labels: {region: eu}, defaults: {image: ubuntu/noble, user_data: base}}
---
schema: slipway/NodeSet/v1
metadata: {name: compute}
data: {tags: [compute], labels: {role: compute}}
---
schema: slipway/Node/v1
metadata: {name: n1}
data: {sets: [compute], rack: r1, address: 10.0.3.7/24}
---
schema: slipway/Node/v1
metadata: {name: n2, depends_on_nodes: [n1], monitor: false}
data: {sets: [compute], rack: r2, user_data: null}
---
schema: slipway/Node/v1
metadata: {name: n3}
data: {}
---
schema: slipway/UserData/v1
metadata: {name: base}
data: {content: 'password: hunter2'}
---
schema: shipyard/DeploymentStrategy/v1
metadata: {name: deployment-strategy}
data:
  default_group: others
  groups:
  - name: first
    critical: true
    depends_on: []
    success_criteria: {percent_successful_nodes: 100}
    selectors: [{node_names: [], node_labels: [], node_tags: [compute], rack_names: [r1]}]
  - name: others
    critical: false
    depends_on: [first]
    selectors: [{node_names: [], node_labels: ['region: eu', 'role: compute'], node_tags: [], rack_names: [r2]}]
"""


def documents(text: str = SITE) -> list[Document]:
    return load_documents(text, "site.yaml")


def said(text: str, *, draft: bool = False, level: str = "error") -> list[str]:
    return [str(problem) for problem in validate(documents(text), draft=draft) if problem.level == level]


def test_groups_select_by_tags_labels_and_racks() -> None:
    design = read_design(documents())
    members = resolve(design.strategy, design.nodes)
    assert {name: sorted(nodes) for name, nodes in members.items()} == {"first": ["n1"], "others": ["n2"]}


def test_nodes_wait_for_nodes_as_their_metadata_says() -> None:
    assert read_design(documents()).edges == {"n2": ("n1",)}
    with pytest.raises(StrategyLibError, match=r"site.yaml:\d+: \$.metadata.depends_on_nodes\[0\]: .*'gone'"):
        read_design(documents(SITE.replace("depends_on_nodes: [n1]", "depends_on_nodes: [gone]")))
    with pytest.raises(InventoryError, match=r"\$.metadata.depends_on_nodes"):
        read_design(documents(SITE.replace("depends_on_nodes: [n1]", "depends_on_nodes: 7")))


LABELS = {"tags: [compute]": "tags: [gpu]", "role: compute}}": "role: gpu}}", "rack: r1": "rack: r9"}
DEPLOYED = {
    "image: ubuntu/noble": "image: ubuntu/jammy",
    "hunter2": "hunter3",
    "address: 10.0.3.7/24": "kernel: hwe-24.04",
    "rack: r1,": "rack: r1, ephemeral: true,",
    "rack: r1, ": "rack: r1, network: bonded,",
    ", rack: r1": ", rack: r1, storage: lvm",
    "rack: r1, a": "rack: r1, checksum: 'https://images/sums', a",
    ", rack: r1, a": ", rack: r1, root_device: {serial: x}, a",
    "[compute], rack: r1": "[compute], traits: [CUSTOM_A], rack: r1",
}
NOTHING = {
    "10.0.3.7/24": "10.0.3.8/24",
    "rack: r1,": "rack: r1, erase: full,",
    "rack: r1, ": "rack: r1, bmc_driver: ipmi, bmc_address: 10.0.9.7, mac_addresses: ['52:54:00:12:34:56'], ",
    "{name: n1}": "{name: n1, monitor: false}",
    "data: {provisioner: maas": "# a comment\ndata: {provisioner: maas",
    "sets: [compute], rack: r1": "rack: r1, tags: [compute], labels: {role: compute}",
    "user_data: base}": "user_data: base, ephemeral: false}",
}


def digests_of_n1(old: str, new: str) -> tuple[str, str]:
    assert old in SITE
    before, after = (read_design(documents(text)).keyed(KEY) for text in (SITE, SITE.replace(old, new)))
    return before.digests["n1"], after.digests["n1"]


@pytest.mark.parametrize(("old", "new"), LABELS.items())
def test_tags_labels_and_rack_are_set_without_a_deployment(old: str, new: str) -> None:
    assert differ_in_labels_alone(*digests_of_n1(old, new))


@pytest.mark.parametrize(("old", "new"), DEPLOYED.items())
def test_what_is_deployed_makes_another_version(old: str, new: str) -> None:
    before, after = digests_of_n1(old, new)
    assert before != after
    assert not differ_in_labels_alone(before, after)


@pytest.mark.parametrize(("old", "new"), NOTHING.items())
def test_what_does_not_make_the_node_makes_no_version(old: str, new: str) -> None:
    before, after = digests_of_n1(old, new)
    assert before == after


def test_a_node_that_says_nothing_of_ironic_keeps_the_digest_that_it_had_before_there_was_any() -> None:
    digest = read_design(load_documents(SITE.replace("hunter2", "x"), "site.yaml")).plain_digests["n2"]
    assert [one[:16] for one in (digest.rest, digest.labels)] == ["69c985f9466e0aa4", "d53affd2e8f3b128"]


def test_a_change_concerns_the_nodes_that_use_it_in_the_end() -> None:
    before = read_design(documents()).plain_digests
    after = read_design(documents(SITE.replace("hunter2", "hunter3"))).plain_digests
    assert {name for name in before if before[name] != after[name]} == {"n1", "n3"}


def test_documents_are_objects_that_use_each_other() -> None:
    design = read_design(documents())
    uses = {str(one.key): list(map(str, one.uses)) for one in design_objects(documents(), design.nodes)}
    assert uses == {
        "node/n1": ["node_set/compute", "site/fra1"],
        "node/n2": ["node_set/compute", "site/fra1"],
        "node/n3": ["site/fra1"],
        "node_set/compute": [],
        "site/fra1": ["user_data/base"],
        "strategy/deployment-strategy": [],
        "user_data/base": [],
    }
    parts = parts_of_nodes(design_objects(documents(), design.nodes))
    assert parts["n3"] == {ObjectKey("node", "n3"), ObjectKey("site", "fra1"), ObjectKey("user_data", "base")}


def test_differences_name_the_documents_that_make_a_node_and_show_no_user_data() -> None:
    after = SITE.replace("hunter2", "hunter3").replace("role: compute}}", "role: gpu}}")
    found = node_changes(SITE, after, ["n1", "n3"], lambda value: value)
    assert {name: [change.schema for change in changes] for name, changes in found.items()} == {
        "n1": ["slipway/NodeSet/v1", "slipway/UserData/v1"],
        "n3": ["slipway/UserData/v1"],
    }
    assert "hunter" not in str(found)
    assert "hunter" not in str(list(document_changes(documents(), documents(after))))


def test_an_address_is_stated_with_its_network() -> None:
    stated = stated_nodes(documents())
    assert stated["n1"].address_instead_of("10.0.3.9") == "10.0.3.7"
    assert stated["n1"].address_instead_of("10.0.3.7") is None
    assert stated["n1"].address_instead_of("10.9.9.9") is None
    assert stated["n2"].address_instead_of("10.0.3.9") is None
    assert [stated[name].monitored for name in ("n1", "n2")] == [True, False]
    without = stated_nodes(documents(SITE.replace("/24", "")))["n1"]
    assert without.address_instead_of("10.0.3.9") is None


SETTINGS = """\
---
schema: slipway/SiteSettings/v1
metadata: {name: settings}
data: {node_states: {health_url: "http://%s:9650/state"}}
"""


def test_agents_are_asked_at_the_stated_address() -> None:
    assert node_urls(documents(), "http://{address}:9650/state") == {"n1": "http://10.0.3.7:9650/state"}
    warning = "\n".join(map(str, read_design(documents(SITE + SETTINGS % "{address}")).warnings))
    assert "2 nodes have no address, such as n2" in warning
    (error,) = said(SITE + SETTINGS % "{address:oam}")
    assert "nodes of this site have one address: write {address}" in error


def test_the_policy_of_the_default_group_sees_them() -> None:
    policed = police(render(documents()), {"every_node_has_a_group": every_node_has_a_group})
    design = read_design([one.document for one in policed.rendering.documents])
    assert sorted(resolve(design.strategy, design.nodes)["others"]) == ["n2", "n3"]


def test_a_whole_site_is_judged() -> None:
    assert said(SITE) == []
    (warning,) = said(SITE, level="warning")
    assert "n3" in warning  # it is in no group (rule 4)


def test_in_a_part_of_a_site_what_is_missing_is_a_warning() -> None:
    part = "schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {sets: [compute], user_data: base}\n"
    assert said(part, draft=True) == []
    warnings = said(part, draft=True, level="warning")
    assert [warning for warning in warnings if "no slipway/NodeSet/v1" in warning]
    assert [warning for warning in warnings if "no slipway/UserData/v1" in warning]
    assert len(said(part)) == 2


def test_what_is_wrong_in_a_set_that_no_node_names_is_an_error_too() -> None:
    (found,) = said("schema: slipway/NodeSet/v1\nmetadata: {name: s}\ndata: {image: 7}\n", draft=True)
    assert found == "site.yaml:3: $.data.image: must be text or empty, not 7; put it in quotes"


def test_it_is_said_also_where_the_documents_cannot_be_rendered() -> None:
    broken = "---\nschema: a/B/v1\nmetadata: {name: b, substitutions: 7}\ndata: {}\n"
    found = said("schema: slipway/NodeSet/v1\nmetadata: {name: s}\ndata: {image: 7}\n" + broken)
    assert [problem for problem in found if "$.data.image" in problem]
