"""Slipway's own documents about machines: what site, sets and node say, laid over each other, and what is wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from design_rendering.kinds.slipway_nodes import Bmc, SlipwayNode, read_slipway_nodes, site_provisioner, slipway_nodes
from design_rendering.reading.documents import Document, DocumentError, load_documents
from design_rendering.redaction import is_secret, redacted_text, secret_values
from design_rendering.rendering import rendered_documents
from design_rendering.slipway_kinds import SHAPES
from strategy_lib.errors import InventoryError, StrategyLibError

SITE = """\
schema: slipway/Site/v1
metadata: {name: fra1}
data:
  provisioner: maas
  labels: {region: eu, tier: 1}
  defaults: {image: ubuntu/noble, kernel: ga-24.04, erase: quick, user_data: base}
---
schema: slipway/NodeSet/v1
metadata: {name: compute}
data: {tags: [compute], labels: {tier: 2, role: compute}, rack: r1, image: custom/compute, storage: lvm}
---
schema: slipway/NodeSet/v1
metadata: {name: gpu}
data: {tags: [gpu], labels: {role: gpu}, kernel: hwe-24.04, ephemeral: true}
---
schema: slipway/Node/v1
metadata: {name: n1}
data: {sets: [compute, gpu], tags: [own], labels: {role: own, fast: true}, rack: r9, ephemeral: false, kernel: null}
---
schema: slipway/Node/v1
metadata: {name: n2}
data: {sets: [gpu, compute], network: bonded, address: 10.0.3.7/24, user_data: null}
---
schema: slipway/Node/v1
metadata: {name: n3}
data: {}
---
schema: slipway/UserData/v1
metadata: {name: base, storagePolicy: cleartext}
data:
  content: |
    #cloud-config
    password: hunter2
"""
CONTENT = "#cloud-config\npassword: hunter2\n"


def nodes_of(text: str) -> dict[str, SlipwayNode]:
    return read_slipway_nodes(rendered_documents(load_documents(text, "site.yaml")))


def problems_of(text: str) -> list[str]:
    with pytest.raises(StrategyLibError) as error:
        nodes_of(text)
    return [str(problem) for problem in error.value.problems]


def one(kind: str, data: str, name: str = "n1") -> str:
    return f"schema: slipway/{kind}/v1\nmetadata: {{name: {name}}}\ndata: {data}\n"


def test_own_values_win_over_those_of_the_last_set_over_the_first_over_the_site() -> None:
    assert nodes_of(SITE) == {
        "n1": SlipwayNode(
            "n1",
            tags=frozenset({"own", "compute", "gpu"}),
            labels={"region": "eu", "tier": "2", "role": "own", "fast": "true"},
            rack="r9",
            image="custom/compute",
            kernel=None,
            ephemeral=False,
            user_data=CONTENT,
            storage_layout="lvm",
            erase="quick",
        ),
        "n2": SlipwayNode(
            "n2",
            tags=frozenset({"compute", "gpu"}),
            labels={"region": "eu", "tier": "2", "role": "compute"},
            rack="r1",
            image="custom/compute",
            kernel="hwe-24.04",
            ephemeral=True,
            user_data=None,
            network_layout="bonded",
            storage_layout="lvm",
            erase="quick",
            address="10.0.3.7/24",
        ),
        "n3": SlipwayNode(
            "n3",
            labels={"region": "eu", "tier": "1"},
            image="ubuntu/noble",
            kernel="ga-24.04",
            user_data=CONTENT,
            erase="quick",
        ),
    }


def test_a_node_needs_nothing_but_its_name() -> None:
    assert nodes_of(one("Node", "{}")) == {"n1": SlipwayNode("n1")}
    assert site_provisioner(load_documents(one("Node", "{}"))) is None
    assert site_provisioner(load_documents(SITE)) == "maas"


IRONIC = (
    one(
        "Site",
        "{provisioner: ironic, enroll: true, defaults: {bmc_driver: ipmi, bmc_account: root, traits: [CUSTOM_A], "
        "checksum: 'https://images/SHA256SUMS', bmc_options: {ipmi_port: 623}}}",
        "site",
    )
    + "---\n"
    + one("BmcAccount", "{user: root, password: hunter2222}", "root")
    + "---\n"
    + one("Node", "{image: 'https://images/a', bmc_address: 10.0.9.7, mac_addresses: ['52:54:00:12:34:56']}")
    + "---\n"
    + one("Node", "{bmc_driver: null, bmc_account: null, bmc_options: null, traits: null, root_gb: 9}", "n2")
)


def test_what_ironic_needs_is_laid_over_each_other_as_all_else() -> None:
    found = nodes_of(IRONIC)
    assert found == {
        "n1": SlipwayNode(
            "n1",
            image="https://images/a",
            checksum="https://images/SHA256SUMS",
            traits=frozenset({"CUSTOM_A"}),
            enroll=True,
            bmc=Bmc("ipmi", "10.0.9.7", "root", "hunter2222", {"ipmi_port": 623}),
            mac_addresses=("52:54:00:12:34:56",),
        ),
        "n2": SlipwayNode("n2", checksum="https://images/SHA256SUMS", root_gb=9, enroll=True),
    }
    assert found["n1"].bmc is not None
    assert found["n1"].bmc.options == {"ipmi_port": 623}


def test_the_password_of_a_bmc_is_a_secret() -> None:
    documents = load_documents(IRONIC)
    assert "hunter2222" in secret_values(documents)
    assert "hunter2222" not in redacted_text(IRONIC, documents) + repr(nodes_of(IRONIC))
    (found,) = problems_of(one("BmcAccount", "{user: root, password: [hunter2222]}"))
    assert "hunter2222" not in found


def test_user_data_is_a_secret_whatever_its_storage_policy_says() -> None:
    documents = load_documents(SITE)
    assert [document.name for document in documents if is_secret(document)] == ["base"]
    assert "hunter2" not in redacted_text(SITE, documents)
    assert "password: hunter2" in secret_values(documents)
    assert "hunter2" not in repr(nodes_of(SITE))


MISTAKES: list[tuple[str, str, str]] = [
    (one("Node", "{sets: [gone]}"), "$.data.sets[0]", "there is no slipway/NodeSet/v1 named 'gone'; there is none"),
    (
        one("Node", "{sets: [com]}") + "---\n" + one("NodeSet", "{}", "comp"),
        "site.yaml:3: $.data.sets[0]",
        "there is no slipway/NodeSet/v1 named 'com'; did you mean 'comp'?",
    ),
    (one("Node", "{user_data: gone}"), "site.yaml:3: $.data.user_data", "no slipway/UserData/v1 named 'gone'"),
    (
        one("Site", "{provisioner: maas, defaults: {user_data: gone}}", "site") + "---\n" + one("Node", "{}"),
        "site.yaml:3: $.data.defaults.user_data",
        "no slipway/UserData/v1 named 'gone'",
    ),
    (
        one("NodeSet", "{user_data: gone}", "one") + "---\n" + one("Node", "{sets: [one]}"),
        "site.yaml:3: $.data.user_data",
        "no slipway/UserData/v1 named 'gone'",
    ),
    (one("Node", "{sets: [a, a]}"), "$.data.sets[1]", "'a' is named twice; keep one of them"),
    (one("Node", "{images: x}"), "$.data.images", "'images' is not known here; did you mean image?"),
    (one("Node", "{image: 24.04}"), "$.data.image", "must be text or empty, not 24.04; put it in quotes"),
    (one("Node", "{image: a b}"), "$.data.image", "must be one word, not the text 'a b'"),
    (one("Node", "{image: ''}"), "$.data.image", "must not be empty"),
    (one("Node", "{tags: [a b]}"), "$.data.tags[0]", "must be a tag of letters, digits, - and _, not the text 'a b'"),
    (one("Node", "{tags: gpu}"), "$.data.tags", "must be a list, not the text 'gpu'"),
    (one("Node", "{labels: {a: [1]}}"), "$.data.labels.a", "must be text or a number or true or false, not a list"),
    (one("Node", "{erase: fast}"), "$.data.erase", "must be none or quick or secure or full, not the text 'fast'"),
    (one("Node", "{address: 10.0.0}"), "$.data.address", "must be an IP address, with or without the length of its"),
    (one("Node", "{}", "a.example"), "$.metadata.name", "must be a host name: letters, digits and -"),
    (
        one("Site", "{provisioner: iron}"),
        "$.data.provisioner",
        "must be maas or ironic or drydock, not the",
    ),
    (one("Site", "{}"), "$.data", "provisioner is missing: maas, ironic or drydock."),
    (
        one("Node", "{checksum: abc}"),
        "$.data.checksum",
        "must be sha256: with 64 hexadecimal digits, sha512",
    ),
    (one("Node", "{traits: [gpu]}"), "$.data.traits[0]", "must be a trait of capital letters, digits and _, not the"),
    (one("Node", "{root_device: {colour: red}}"), "$.data.root_device", "colour"),
    (one("Node", "{mac_addresses: ['1:2']}"), "$.data.mac_addresses[0]", "six pairs of hexadecimal digits"),
    (one("Node", "{bmc_account: gone}"), "$.data.bmc_account", "no slipway/BmcAccount/v1 named 'gone'"),
    (
        one("Site", "{provisioner: ironic, defaults: {bmc_options: {redfish_password: hunter2}}}"),
        "$.data.defaults.bmc_options.redfish_password",
        "looks like a secret, and everybody may read it here: write it into a slipway/BmcAccount/v1",
    ),
    (one("BmcAccount", "{user: root}"), "$.data", "password is missing"),
    (one("Site", "{provisioner: maas, connection: c}"), "$.data.connection", "'connection' is not known here"),
    (one("UserData", "{}"), "$.data", "content is missing"),
]


@pytest.mark.parametrize(("text", "place", "said"), MISTAKES)
def test_what_is_wrong_is_named_with_its_place_and_what_would_be_right(text: str, place: str, said: str) -> None:
    (found,) = problems_of(text)
    assert place in found
    assert said in found
    assert found.startswith("site.yaml:")


@pytest.mark.parametrize("data", ["'password: hunter2'", "{content: {password: hunter2}}"])
def test_a_sentence_about_user_data_does_not_repeat_it(data: str) -> None:
    (found,) = problems_of(one("UserData", data))
    assert "hunter2" not in found
    assert "text" in found


def test_user_data_in_the_place_of_its_name_is_not_repeated() -> None:
    (found,) = problems_of(one("Node", '{user_data: "#cloud-config\\npassword: hunter2\\n"}'))
    assert found.endswith("a name of letters, digits, dots, - and _, not a text of 2 lines")


def test_all_that_is_wrong_is_named_at_once() -> None:
    found = problems_of(one("Node", "{tags: 1, image: 2}") + "---\n" + one("NodeSet", "{rack: 3}", "s"))
    assert len(found) == 3


def test_what_is_not_there_once_is_said_once_where_it_is_named() -> None:
    text = one("NodeSet", "{user_data: gone}", "s") + "".join(
        "---\n" + one("Node", "{sets: [s]}", f"n{number}") for number in range(3)
    )
    nodes, missing = slipway_nodes(load_documents(text))
    assert [problem.document for problem in missing] == ["<text>: slipway/NodeSet/v1 s"]
    assert [node.user_data for node in nodes.values()] == [None, None, None]


def test_two_sites_and_two_nodes_of_a_name_are_refused() -> None:
    with pytest.raises(DocumentError, match="there may be only one slipway/Site/v1"):
        nodes_of(one("Site", "{provisioner: maas}", "a") + "---\n" + one("Site", "{provisioner: maas}", "b"))
    with pytest.raises(DocumentError, match="there is already a slipway/Node/v1 named 'n1'"):
        read_slipway_nodes(load_documents(one("Node", "{}") + "---\n" + one("Node", "{}")))


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(DocumentError, match="image"):
        load_documents("schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {image: a, image: b}\n")


def test_documents_that_were_built_and_not_read_do_as_well() -> None:
    with pytest.raises(InventoryError, match="must be a mapping, not empty"):
        read_slipway_nodes([Document("slipway/Node/v1", "n1", None, None)])


def test_what_documents_share_is_said_alike_in_their_schemas() -> None:
    read: dict[str, dict[str, Any]] = {
        name: json.loads(files("slipway_schemas").joinpath(f"{name}.json").read_text("utf-8"))["$defs"]
        for name in SHAPES.values()
    }
    node, node_set = read["node"]["data"]["properties"], read["node_set"]["data"]["properties"]
    assert {key: node[key] for key in node_set} == node_set
    assert node.keys() - node_set.keys() == {"sets", "address", "bmc_address", "mac_addresses"}
    defaults = read["site"]["defaults"]["properties"]
    assert defaults == {key: node[key] for key in defaults}
    assert node_set.keys() - defaults.keys() == {"tags", "labels", "rack"}
    assert read["node"]["labels"] == read["node_set"]["labels"] == read["site"]["labels"]
