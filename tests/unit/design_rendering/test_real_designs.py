"""The two real sites that the project was given, where they are at hand, and a site as the public ones are laid out."""

from __future__ import annotations

from pathlib import Path

import pytest

from design_rendering import design_text, load_documents, read_design, redacted_text, render, rendered_documents
from strategy_lib.selectors import resolve
from strategy_lib.simulation import rehearse

SITES = Path(__file__).resolve().parents[4] / "shared" / "sites"


@pytest.mark.skipif(not SITES.is_dir(), reason="../shared is absent")
@pytest.mark.parametrize(("name", "selectors", "profiles"), [("seaworthy", 2, 3), ("airsloop", 1, 1)])
def test_real_sites_render_as_they_are_written(name: str, selectors: int, profiles: int) -> None:
    text = (SITES / f"{name}.yaml").read_text("utf-8")
    read = load_documents(text, f"{name}.yaml")
    made = render(read)
    assert not any(one.changed for one in made.documents)
    assert [one.document for one in made.documents] == read
    found = [warning.path.rpartition(".")[2] for warning in made.warnings]
    assert found == ["parentSelector"] * selectors + ["src", "src"]
    assert [one.data for one in load_documents(design_text(made))] == [one.data for one in read]
    assert redacted_text(text, read).count("[redacted]") == profiles


@pytest.mark.skipif(not (SITES / "full").is_dir(), reason="../shared/sites/full is absent")
@pytest.mark.parametrize(
    ("name", "written", "rendered", "members", "repeated"),
    [
        ("airship-seaworthy-v18.11.01", 396, 379, {"masters": 2, "workers": 3}, 4),
        ("airsloop-v1.9", 427, 381, {"masters": 0, "workers": 1}, 0),
    ],
)
def test_whole_document_sets_render_as_they_are(
    name: str, written: int, rendered: int, members: dict[str, int], repeated: int
) -> None:
    read = load_documents((SITES / "full" / f"{name}.yaml").read_bytes(), name)
    made = render(read)
    assert (len(read), len(made.documents)) == (written, rendered)
    assert sum("already there" in warning.message for warning in made.warnings) == len(made.warnings) == repeated
    # The patterns of dest.recurse are gone, those in what is not rendered with them.
    text = design_text(made)
    assert "CIRROS_IMAGE_LOCATION" not in text
    assert "SECCOMP_PROFILE_ROOT" not in text
    again = load_documents(text)
    assert [one.data for one in again] == [one.document.data for one in made.documents]
    assert not any(one.warnings for one in again)
    design = read_design(again)
    assert {group: len(nodes) for group, nodes in resolve(design.strategy, design.nodes).items()} == members


PUBLIC = """\
---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [global, type, site]}
---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: cp-global
  storagePolicy: cleartext
  labels: {hosttype: cp-global}
  layeringDefinition: {abstract: true, layer: global}
  substitutions:
  - src: {schema: deckhand/Passphrase/v1, name: ipmi_admin_password, path: .}
    dest: {path: .oob.credential}
data:
  oob: {type: ipmi, network: oob, account: root}
  storage: {physical_devices: {sda: {labels: {bootdrive: 'true'}}}}
  metadata: {owner_data: {control-plane: enabled, ceph-mon: enabled}}
---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: cp
  storagePolicy: cleartext
  layeringDefinition:
    abstract: false
    layer: site
    parentSelector: {hosttype: cp-global}
    actions:
    - {method: replace, path: .storage}
    - {method: merge, path: .}
data:
  storage: {physical_devices: {sdb: {}}}
  metadata: {owner_data: {openstack-l3-agent: enabled}}
---
schema: deckhand/Passphrase/v1
metadata: {schema: metadata/Document/v1, name: ipmi_admin_password, storagePolicy: cleartext,
  layeringDefinition: {abstract: false, layer: site}}
data: airship
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: n1, storagePolicy: cleartext,
  layeringDefinition: {abstract: false, layer: site}}
data: {host_profile: cp, metadata: {rack: r1}}
"""


def test_labels_come_from_layered_host_profiles() -> None:
    design = read_design(rendered_documents(load_documents(PUBLIC)))
    assert [dict(node.labels) for node in design.nodes] == [
        {"control-plane": "enabled", "ceph-mon": "enabled", "openstack-l3-agent": "enabled"}
    ]


def test_a_site_as_the_public_ones_are_laid_out() -> None:
    made = {one.document.name: one for one in render(load_documents(PUBLIC)).documents}
    assert list(made) == ["layering-policy", "cp", "ipmi_admin_password", "n1"]
    assert made["cp"].document.data == {
        "oob": {"type": "ipmi", "network": "oob", "account": "root", "credential": "airship"},
        "storage": {"physical_devices": {"sdb": {}}},
        "metadata": {
            "owner_data": {"control-plane": "enabled", "ceph-mon": "enabled", "openstack-l3-agent": "enabled"}
        },
    }
    assert made["cp"].secret_paths == ("$.data.oob.credential",)


@pytest.mark.skipif(not SITES.is_dir(), reason="../shared is absent")
@pytest.mark.parametrize(
    ("name", "members", "warnings"),
    [
        (
            "seaworthy",
            {
                "masters": {"cab23-r720-12", "cab23-r720-13"},
                "workers": {"cab23-r720-14", "cab23-r720-16", "cab23-r720-17"},
            },
            [],
        ),
        (
            "airsloop",
            {"masters": set(), "workers": {"airsloop-compute-1"}},
            ["group 'masters' matches no node"],
        ),
    ],
)
def test_real_site(name: str, members: dict[str, set[str]], warnings: list[str]) -> None:
    design = read_design(load_documents((SITES / f"{name}.yaml").read_bytes(), f"{name}.yaml"))
    assert design.configuration.deployment_strategy == "deployment-strategy"
    assert design.configuration.join_wait == 0
    assert resolve(design.strategy, design.nodes) == members
    assert [warning.message for warning in design.warnings] == warnings
    assert set(design.digests) == {node.name for node in design.nodes}
    assert all(node.rack and node.labels for node in design.nodes)
    assert rehearse(design.strategy, design.nodes).deployment.verdict == "success"
