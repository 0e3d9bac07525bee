"""The machines that a simulated MAAS has from the documents of a site, whichever kinds describe them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from provisioner_client.simulator.errors import SimulatorError
from provisioner_client.simulator.maas.machines.site_machines import SiteMachine, read_site
from tests.conftest import ROOT

DATA = ROOT / "slipway_cli" / "data"


def test_both_example_sites_have_the_same_machines() -> None:
    machines, others = (read_site(DATA / name) for name in ("example_maas_site.yaml", "example_site.yaml"))
    assert len(machines) == 40
    # A node on MAAS states the address that it has in the end; one of Drydock's that at which it boots, too.
    assert [replace(one, address="") for one in machines] == [replace(one, address="") for one in others]


def test_what_the_site_and_sets_say_counts(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(
        "schema: slipway/Site/v1\nmetadata: {name: s}\ndata: {provisioner: maas, labels: {a: b}}\n---\n"
        "schema: slipway/NodeSet/v1\nmetadata: {name: x}\ndata: {tags: [gpu], rack: r1}\n---\n"
        "schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {sets: [x]}\n"
    )
    assert read_site(file) == [SiteMachine("n1", "r1", ("a__b", "gpu"))]
    file.write_text("schema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {sets: [x]}\n")
    with pytest.raises(SimulatorError, match="there is no slipway/NodeSet/v1 named 'x'"):
        read_site(file)
