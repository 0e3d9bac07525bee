"""Large site designs as text, made quickly: every node is layered on an abstract one."""

from __future__ import annotations

import hashlib

NODES_PER_RACK = 100

_SITE = """\
---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [global, type, site]}
---
schema: drydock/Region/v1
metadata: {schema: metadata/Document/v1, name: large, layeringDefinition: {abstract: false, layer: site}}
data: {tag_definitions: [], authorized_keys: []}
---
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: compute, layeringDefinition: {abstract: false, layer: site}}
data: {metadata: {owner_data: {role: compute}}}
---
schema: drydock/BootAction/v1
metadata: {schema: metadata/Document/v1, name: greeting, layeringDefinition: {abstract: false, layer: site}}
data: {signaling: false, assets: [{path: /etc/motd, type: file, data: deployed}]}
---
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: node-base
  labels: {base: node}
  layeringDefinition: {abstract: true, layer: global}
data:
  host_profile: compute
  oob: {type: ipmi, network: oob, account: admin, credential: calvin}
  interfaces:
    eno1: {device_link: pxe, slaves: [eno1], networks: [mgmt]}
    eno2: {device_link: bond, slaves: [eno2, eno3], networks: [calico, storage]}
  metadata: {tags: [all]}
---
schema: shipyard/DeploymentConfiguration/v1
metadata: {schema: metadata/Document/v1, name: configuration, layeringDefinition: {abstract: false, layer: site}}
data: {physical_provisioner: {deployment_strategy: deployment-strategy}}
---
schema: shipyard/DeploymentStrategy/v1
metadata: {schema: metadata/Document/v1, name: deployment-strategy, layeringDefinition: {abstract: false, layer: site}}
data:
  groups:
"""
_GROUP = """\
  - {{name: rack-{rack:03}, critical: false, depends_on: [], selectors: [{{rack_names: [r{rack:03}]}}]}}
"""
_NODE = """\
---
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: node-{number:05}
  storagePolicy: cleartext
  layeringDefinition:
    abstract: false
    layer: site
    parentSelector: {{base: node}}
    actions: [{{method: merge, path: .}}]
data:
  addressing:
  - {{network: oob, address: 10.{high}.{middle}.{low}}}
  - {{network: mgmt, address: 11.{high}.{middle}.{low}}}
  metadata: {{rack: r{rack:03}}}
"""


def large_site(nodes: int) -> str:
    """Return a site with so many nodes, a rack and a group for each hundred of them."""
    racks = -(-nodes // NODES_PER_RACK)
    written = [_SITE, *(_GROUP.format(rack=rack) for rack in range(racks))]
    written += [
        _NODE.format(
            number=number,
            high=number >> 16 & 255,
            middle=number >> 8 & 255,
            low=number & 255,
            rack=number // NODES_PER_RACK,
        )
        for number in range(nodes)
    ]
    return "".join(written)


_SECRET = """\
---
schema: deckhand/Passphrase/v1
metadata:
  schema: metadata/Document/v1
  name: passphrase-{number:05}
  storagePolicy: encrypted
  layeringDefinition: {{abstract: false, layer: site}}
data: {secret}
"""
SECRET_MARK = "s3cr3t-"
"""What every secret of `secret_documents` begins with."""


def secret_of(number: int) -> str:
    """Return a secret that looks like one, the same each time."""
    return f"{SECRET_MARK}{hashlib.sha256(str(number).encode()).hexdigest()[:24]}"


def secret_documents(count: int) -> str:
    """Return so many passphrases, each a document of its own, as complete sites have them."""
    return "".join(_SECRET.format(number=number, secret=secret_of(number)) for number in range(count))
