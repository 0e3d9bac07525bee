"""The example site on MAAS: the same nodes and groups as the example site, in documents of Slipway's own."""

from pathlib import Path

from design_rendering import load_documents, read_design, rendered_documents
from design_rendering.kinds.slipway_nodes import read_slipway_nodes
from design_rendering.validation import validate


def test_it_has_the_nodes_and_the_groups_of_the_example_site(example: Path) -> None:
    of_drydock = read_design(rendered_documents(load_documents(example.read_bytes(), example.name)))
    written = load_documents(example.with_name("example_maas_site.yaml").read_bytes(), "example_maas_site.yaml")
    documents = rendered_documents(written)
    on_maas = read_design(documents)
    assert on_maas.nodes == of_drydock.nodes
    assert on_maas.strategy == of_drydock.strategy
    assert on_maas.configuration == of_drydock.configuration
    assert [str(problem) for problem in validate(written)] == []
    nodes = read_slipway_nodes(documents)
    assert {(node.image, node.erase, node.user_data is None) for node in nodes.values()} == {
        ("ubuntu/noble", "quick", False)
    }
    assert len({node.address for node in nodes.values()}) == 40
