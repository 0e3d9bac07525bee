"""Documents from machines that are there already: short, always the same, and good as they are."""

from __future__ import annotations

import random
from functools import partial

from design_rendering.design import read_design
from design_rendering.kinds.imported_site import ImportedMachine, imported_files
from design_rendering.kinds.slipway_nodes import SlipwayNode, read_slipway_nodes
from design_rendering.reading.documents import load_documents
from design_rendering.rendering import rendered_documents
from strategy_lib.selectors import resolve
from tests.support.designs import validate

written = partial(imported_files, provisioner="maas")
GPU, ROLE = frozenset({"gpu", "compute"}), {"role": "compute"}
NOBLE, JAMMY = "ubuntu/noble", "ubuntu/jammy"
MACHINES = [
    ImportedMachine("r1-c1", "r1", GPU, ROLE, NOBLE),
    ImportedMachine("r1-c2", "r1", GPU, ROLE, NOBLE),
    ImportedMachine("r2-c1", "r2", GPU, ROLE, NOBLE),
    ImportedMachine("r2-c2", "r2", GPU, ROLE, JAMMY, "Broken in MAAS"),
    ImportedMachine("r1-new", "r1", GPU, ROLE),
    ImportedMachine("r1-s1", "r1", frozenset({"storage"}), image=NOBLE),
    ImportedMachine("r2-bare1", "r2"),
    ImportedMachine("r2-bare2", "r2"),
]
SITE = """\
# Made by `slipway import maas`, and yours to edit: docs/machines.md says what may stand here.
---
schema: slipway/Site/v1
metadata: {name: fra1}
data: {provisioner: maas, defaults: {image: ubuntu/noble}}
---
schema: slipway/NodeSet/v1
metadata: {name: compute-gpu}
data: {tags: [compute, gpu], labels: {role: compute}}
"""


def nodes_of(files: dict[str, str]) -> dict[str, SlipwayNode]:
    return read_slipway_nodes(rendered_documents(load_documents("".join(files.values()))))


def test_what_most_machines_have_is_said_once() -> None:
    files = written("fra1", MACHINES)
    # A machine that is not deployed yet takes the default, and so belongs to the set of those that have it.
    assert files["site.yaml"] == SITE
    assert "metadata: {name: r1-c1}\ndata: {sets: [compute-gpu], rack: r1}\n" in files["nodes.yaml"]
    own = "data: {tags: [compute, gpu], labels: {role: compute}, image: ubuntu/jammy, rack: r2}\n"
    assert f"---\n# Broken in MAAS\nschema: slipway/Node/v1\nmetadata: {{name: r2-c2}}\n{own}" in files["nodes.yaml"]
    assert "metadata: {name: r2-bare1}\ndata: {rack: r2}\n" in files["nodes.yaml"]
    assert "    selectors:\n    - rack_names:\n      - r1\n    success_criteria:\n" in files["strategy.yaml"]


def test_the_documents_describe_the_machines() -> None:
    nodes = nodes_of(written("fra1", MACHINES))
    assert list(nodes) == sorted(machine.name for machine in MACHINES)
    for machine in MACHINES:
        node = nodes[machine.name]
        assert (node.rack, node.tags, node.labels) == (machine.rack, machine.tags, machine.labels)
        assert node.image == (machine.image or NOBLE)


def test_they_are_good_as_they_are() -> None:
    documents = load_documents("".join(written("fra1", MACHINES).values()), "all.yaml")
    assert [str(problem) for problem in validate(documents)] == []
    design = read_design(rendered_documents(documents))
    members = resolve(design.strategy, design.nodes)
    assert {name: len(nodes) for name, nodes in members.items()} == {"r1": 4, "r2": 4}


def test_the_same_machines_always_give_the_same_texts() -> None:
    shuffled = random.Random(7).sample(MACHINES, len(MACHINES))
    assert written("fra1", shuffled) == written("fra1", MACHINES)


def test_machines_without_racks_are_in_a_group_too() -> None:
    alone = written("s", [ImportedMachine("n1"), ImportedMachine("n2")])
    assert "name: others\n" in alone["strategy.yaml"]
    mixed = load_documents("".join(written("s", [ImportedMachine("n1"), ImportedMachine("n2", "r")]).values()))
    design = read_design(rendered_documents(mixed))
    assert {name: list(nodes) for name, nodes in resolve(design.strategy, design.nodes).items()} == {
        "r": ["n2"],
        "others": ["n1"],
    }


def test_the_group_of_machines_without_racks_has_a_name_of_its_own() -> None:
    racks = ["others", "others-2", "machines-without-a-rack"]
    machines = [ImportedMachine(f"n{number}", rack) for number, rack in enumerate(racks)]
    files = written("s", [*machines, ImportedMachine("bare")])
    design = read_design(rendered_documents(load_documents("".join(files.values()))))
    assert list(resolve(design.strategy, design.nodes)["others-3"]) == ["bare"]


HOSTILE = [
    "default",
    "Rack 1 - Süd",
    "null",
    "0x1F",
    "2026-11-23",
    "a: [b",
    "'\"",
    "-",
    "x" * 128,
    "&a *b !c %d @e",
    "日本",
]


def test_names_that_are_made_to_break_yaml_come_back_as_they_were() -> None:
    machines = [
        ImportedMachine(
            f"n{number}", name, labels={name: name}, image="custom/it's-#1", note=f"{name}\n---\n\x07\x1b[2J"
        )
        for number, name in enumerate(HOSTILE)
    ]
    text = "".join(written("null", machines).values())
    assert [str(problem) for problem in validate(load_documents(text))] == []
    design = read_design(rendered_documents(load_documents(text)))
    assert {name: list(nodes) for name, nodes in resolve(design.strategy, design.nodes).items()} == {
        machine.rack: [machine.name] for machine in machines
    }
    assert {node.name: node.labels for node in design.nodes} == {one.name: one.labels for one in machines}


def test_sets_have_names_of_their_own() -> None:
    same = [ImportedMachine(f"a{number}", tags=frozenset({"x"}), labels={"k": "1"}) for number in range(2)]
    other = [ImportedMachine(f"b{number}", tags=frozenset({"x"}), labels={"k": "2"}) for number in range(2)]
    odd = [ImportedMachine(f"c{number}", labels={"k": "- odd / value"}) for number in range(2)]
    text = written("s", [*same, *other, *odd])["site.yaml"]
    names = [line.split("name: ")[1].rstrip("}") for line in text.splitlines() if line.startswith("metadata")]
    assert names == ["s", "x", "x-2", "odd-value"]
    assert len(nodes_of(written("s", [*same, *other, *odd]))) == 6


def test_what_looks_like_a_secret_is_left_out_and_named() -> None:
    files = written("s", [ImportedMachine("n1", labels={"bmc_password": "hunter2", "role": "x"})])
    assert "hunter2" not in "".join(files.values())
    assert "left out: bmc_password." in files["site.yaml"]
    assert nodes_of(files)["n1"].labels == {"role": "x"}


def test_no_machine_at_all_gives_documents_too() -> None:
    assert nodes_of(written("s", [])) == {}
