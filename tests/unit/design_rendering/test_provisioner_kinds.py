"""Whether the kinds of documents fit the site's provisioner, by its connection and by what the site says."""

from __future__ import annotations

import pytest

from design_rendering.kinds.provisioner_kinds import provisioner_problems
from design_rendering.reading.documents import load_documents

SITE = "schema: slipway/Site/v1\nmetadata: {{name: s}}\ndata: {{provisioner: {0}}}\n---\n"
OWN = "schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {}\n---\n"
OTHERS = "schema: drydock/BaremetalNode/v1\nmetadata: {name: d1}\ndata: {}\n---\n"
SET = "schema: slipway/NodeSet/v1\nmetadata: {name: s1}\ndata: {}\n---\n"
NETWORK = "schema: drydock/Network/v1\nmetadata: {name: oam}\ndata: {}\n---\n"
DRYDOCK, MAAS = SITE.format("drydock"), SITE.format("maas")

MAAS_ON_DRYDOCK = "slipway/Node/v1 is for MAAS, and the site's provisioner is Drydock: describe its machines"
DRYDOCK_ON_MAAS = "drydock/BaremetalNode/v1 is for Drydock, and the site's provisioner is MAAS: describe its machines"

FITTING = [
    (OTHERS + NETWORK, None),
    (OTHERS + NETWORK, "drydock"),
    (DRYDOCK + OTHERS, "drydock"),
    (DRYDOCK + OTHERS, None),
    (OWN + SET, None),
    (OWN + SET, "maas"),
    (MAAS + OWN, "maas"),
    (MAAS + OWN, None),
    (OTHERS, "another"),
]


@pytest.mark.parametrize(("text", "connected"), FITTING)
def test_nothing_is_said_of_what_fits(text: str, connected: str | None) -> None:
    assert provisioner_problems(load_documents(text), connected) == []


FOREIGN = [
    # The connection decides.
    (OWN, "drydock", ["error $.schema"], [MAAS_ON_DRYDOCK]),
    (OTHERS, "maas", ["error $.schema"], [DRYDOCK_ON_MAAS]),
    # Without one, what the site says.
    (DRYDOCK + OWN, None, ["error $.schema"], [MAAS_ON_DRYDOCK]),
    (MAAS + OTHERS, None, ["error $.schema"], [DRYDOCK_ON_MAAS]),
    # Where the two differ.
    (MAAS + OWN, "drydock", ["error $.data.provisioner", "error $.schema"], ["leads to Drydock", MAAS_ON_DRYDOCK]),
    (DRYDOCK + OTHERS, "maas", ["error $.data.provisioner", "error $.schema"], ["leads to MAAS", DRYDOCK_ON_MAAS]),
    # Without either only both kinds together are wrong.
    (OTHERS + OWN, None, ["error $.schema"], ["here are 1 nodes for MAAS (slipway/Node/v1) and 1 for Drydock"]),
    # What is only not read.
    (OWN + NETWORK, "maas", ["warning $.schema"], ["drydock/Network/v1 is for Drydock"]),
    (OTHERS + SET, "drydock", ["warning $.schema"], ["slipway/NodeSet/v1 is for MAAS"]),
    # Each kind once.
    (OTHERS + OTHERS.replace("d1", "d2"), "maas", ["error $.schema"], ["for Drydock, as are 1 more documents"]),
]


@pytest.mark.parametrize(("text", "connected", "places", "said"), FOREIGN)
def test_what_does_not_fit_is_named(text: str, connected: str | None, places: list[str], said: list[str]) -> None:
    found = provisioner_problems(load_documents(text, "site.yaml"), connected)
    assert [f"{problem.level} {problem.path}" for problem in found] == places
    for problem, part in zip(found, said, strict=True):
        assert part in problem.message
        assert problem.line is not None


def test_labels_and_defaults_of_a_site_are_for_maas() -> None:
    text = "schema: slipway/Site/v1\nmetadata: {name: s}\ndata: {provisioner: drydock, labels: {a: b}, defaults: {}}\n"
    (found,) = provisioner_problems(load_documents(text))
    assert (found.path, found.line) == ("$.data.labels", 3)


def test_two_sites_are_told_of_elsewhere() -> None:
    assert provisioner_problems(load_documents(MAAS + MAAS.replace("name: s", "name: t") + OTHERS)) == []
